// Calls within one process, whose servers can be lost like processes.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "transports/remote_calls.h"

namespace collbench {

/// Addresses are any names. Thread safety: any number of threads.
class CallLoop final : public CallNetwork {
 public:
  /// From now on nobody is there: calls to it fail, those under way as well.
  void lose(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (peers_[address]) peers_[address]->lost = true;
    peers_.erase(address);
  }
  std::unique_ptr<CallServer> listen(const std::string& address, CallHandler handler) override {
    const auto peer = std::make_shared<Peer>();
    peer->handler = std::move(handler);
    const std::lock_guard lock(mutex_);
    peers_[address] = peer;
    return std::make_unique<LoopServer>(*this, address, peer);
  }
  std::unique_ptr<Caller> reach(const std::string& name, const std::string& address) override {
    return std::make_unique<LoopCaller>(*this, name, address);
  }

 private:
  struct Peer {
    CallHandler handler;
    std::atomic<bool> closing{false};  // its answers still arrive
    std::atomic<bool> lost{false};
    std::atomic<int> running{0};
  };
  class LoopServer final : public CallServer {
   public:
    LoopServer(CallLoop& loop, std::string address, std::shared_ptr<Peer> peer)
        : loop_(loop), address_(std::move(address)), peer_(std::move(peer)) {}
    ~LoopServer() override {
      peer_->closing = true;
      {
        const std::lock_guard lock(loop_.mutex_);
        const auto found = loop_.peers_.find(address_);
        if (found != loop_.peers_.end() && found->second == peer_) loop_.peers_.erase(found);
      }
      while (peer_->running > 0) std::this_thread::yield();
    }
    std::string address() const override { return address_; }

   private:
    CallLoop& loop_;
    std::string address_;
    std::shared_ptr<Peer> peer_;
  };
  class LoopCaller final : public Caller {
   public:
    LoopCaller(CallLoop& loop, std::string name, std::string address)
        : loop_(loop), name_(std::move(name)), address_(std::move(address)) {}
    ~LoopCaller() override { cancelled_ = true; }
    void start(std::span<const std::span<const std::byte>> pieces, Seconds) override {
      std::string request;
      for (const auto& piece : pieces) {
        request.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      }
      answer_ = std::async(std::launch::async, [this, request] { return answer_to(request); });
    }
    std::string finish() override { return answer_.get(); }
    void cancel() override { cancelled_ = true; }

   private:
    std::string answer_to(const std::string& request) {
      const std::shared_ptr<Peer> peer = loop_.enter(address_);
      if (!peer) throw CallError(CallFailure::absent, name_ + " is not there");
      std::string reply;
      std::string refusal;
      try {
        reply = peer->handler({request, [&] { return peer->closing || peer->lost || cancelled_; }});
      } catch (const std::exception& error) {
        refusal = error.what();
      }
      const bool lost = peer->lost;
      --peer->running;
      if (lost) throw CallError(CallFailure::absent, name_ + " is not there");
      if (cancelled_) throw CallError(CallFailure::cancelled, name_ + " was not waited for");
      if (!refusal.empty()) throw CallError(CallFailure::refused, refusal);
      return reply;
    }

    CallLoop& loop_;
    std::string name_;
    std::string address_;
    std::atomic<bool> cancelled_{false};
    std::future<std::string> answer_;
  };

  /// Whoever enters is waited for when the server ends.
  std::shared_ptr<Peer> enter(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(address);
    if (found == peers_.end()) return nullptr;
    ++found->second->running;
    return found->second;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;
};

}  // namespace collbench

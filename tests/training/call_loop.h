// Calls within one process, whose servers can be lost like processes.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
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
    const std::shared_ptr<Peer> peer = peer_at(address);
    if (!peer || !enter(address, peer)) return;
    peer->lost = true;
    {
      const std::lock_guard lock(mutex_);
      peers_.erase(address);
    }
    for (CallerNumber caller = 1; caller <= peer->callers; ++caller) peer->handlers.gone(caller);
    --peer->running;
  }
  std::unique_ptr<CallServer> listen(const std::string& address, CallHandlers handlers) override {
    const auto peer = std::make_shared<Peer>();
    peer->handlers = std::move(handlers);
    const std::lock_guard lock(mutex_);
    peers_[address] = peer;
    return std::make_unique<LoopServer>(*this, address, peer);
  }
  std::unique_ptr<Caller> reach(const std::string& name, const std::string& address) override {
    return std::make_unique<LoopCaller>(*this, name, address);
  }

 private:
  struct Peer {
    CallHandlers handlers;
    std::atomic<CallerNumber> callers{0};
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
    ~LoopCaller() override {
      gone_ = true;
      if (answer_.valid()) answer_.wait();
      leave();
    }
    void start(std::string request, Seconds) override {
      if (lost()) leave();
      answer_ = std::async(std::launch::async,
                           [this, text = std::move(request)] { return answer_to(text); });
    }
    std::string finish() override { return answer_.get(); }
    bool lost() override { return peer_ && (peer_->lost || peer_->closing); }

   private:
    /// Its connection ends, which its server sees if it is still there.
    void leave() {
      if (peer_ && loop_.enter(address_, peer_)) {
        peer_->handlers.gone(number_);
        --peer_->running;
      }
      peer_.reset();
    }
    std::string answer_to(const std::string& request) {
      if (!peer_) {
        peer_ = loop_.peer_at(address_);
        if (peer_) number_ = ++peer_->callers;
      }
      if (!peer_ || !loop_.enter(address_, peer_)) {
        throw CallError(CallFailure::absent, name_ + " is not there");
      }
      std::string reply;
      std::string refusal;
      try {
        const auto abandoned = [&] { return peer_->closing || peer_->lost || gone_; };
        reply = peer_->handlers.answer({request, abandoned, number_});
      } catch (const std::exception& error) {
        refusal = error.what();
      }
      const bool lost = peer_->lost;
      --peer_->running;
      if (lost) throw CallError(CallFailure::absent, name_ + " is not there");
      if (!refusal.empty()) throw CallError(CallFailure::refused, refusal);
      return reply;
    }

    CallLoop& loop_;
    std::string name_;
    std::string address_;
    std::atomic<bool> gone_{false};
    std::shared_ptr<Peer> peer_;
    CallerNumber number_ = 0;
    std::future<std::string> answer_;
  };

  std::shared_ptr<Peer> peer_at(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(address);
    return found == peers_.end() ? nullptr : found->second;
  }
  /// False if it has ended; otherwise its end waits until `running` is counted down again.
  bool enter(const std::string& address, const std::shared_ptr<Peer>& peer) {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(address);
    if (found == peers_.end() || found->second != peer) return false;
    ++peer->running;
    return true;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;
};

}  // namespace collbench

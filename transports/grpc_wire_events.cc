// What a wire does about what happens to its streams.
#include <algorithm>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include "core/error.h"
#include "transports/grpc_wire.h"

namespace collbench {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds grace{300};            // in which another peer may tell the cause of a break
constexpr milliseconds abort_linger{500};     // in which peers take the reason of an abort
constexpr std::size_t longest_reason = 1024;  // bytes; well under the limit of metadata
constexpr char question = '?';
constexpr char reply = '!';

// Takes as long for a wrong guess whatever part of it is right.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  }
  return difference == 0;
}

gpr_timespec deadline_after(Seconds longest) {
  if (longest.count() <= 0) return gpr_inf_past(GPR_CLOCK_MONOTONIC);
  return gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(static_cast<std::int64_t>(longest.count() * 1e9), GPR_TIMESPAN));
}

}  // namespace

OutgoingStream& GrpcWire::to(Rank peer) {
  if (!failure_.empty()) throw TransportError(failure_);
  Peer& there = peers_[static_cast<std::size_t>(peer)];
  if (there.takes_none) {
    fail("rank " + std::to_string(peer) + " ended while rank " + std::to_string(options_.rank) +
         " still sends to it");
  }
  require(phase_ == Phase::connected, "grpc: connect() must come before the first transfer");
  return *there.out;
}

void GrpcWire::read(Rank from) { peers_[static_cast<std::size_t>(from)].in->read(); }

void GrpcWire::ask(Rank peer) {
  peers_[static_cast<std::size_t>(peer)].in->write_control(std::string(1, question));
}

bool GrpcWire::poll(Seconds longest) {
  if (!failure_.empty()) throw TransportError(failure_);
  if (!trouble_.empty()) longest = std::min<Seconds>(longest, milliseconds(10));
  const bool handled = handle_one(longest);
  if (!trouble_.empty() && (certain_ || Clock::now() - since_ > grace)) {
    const std::string cause = trouble_;
    fail(cause);
  }
  return handled;
}

bool GrpcWire::handle_one(Seconds longest) {
  void* tag = nullptr;
  bool ok = false;
  const auto status = queue_->AsyncNext(&tag, &ok, deadline_after(longest));
  if (status != grpc::CompletionQueue::GOT_EVENT) return false;
  static_cast<GrpcTag*>(tag)->run(ok);
  return true;
}

void GrpcWire::drain_until(Clock::time_point deadline, bool (GrpcWire::*enough)() const) {
  while (!(this->*enough)() && Clock::now() < deadline) handle_one(milliseconds(10));
}

bool GrpcWire::every_stream_to_peers_ended() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return peer.out == nullptr || peer.out->ended(); });
}

bool GrpcWire::every_stream_ended() const {
  const auto in_ended = [](const Peer& peer) { return peer.in == nullptr || peer.in->ended(); };
  return every_stream_to_peers_ended() && std::all_of(peers_.begin(), peers_.end(), in_ended);
}

void GrpcWire::fail(const std::string& reason) {
  failure_ = reason.substr(0, longest_reason);
  for (Peer& peer : peers_) {
    if (peer.in != nullptr) peer.in->abort(failure_);
  }
  drain_until(Clock::now() + abort_linger, &GrpcWire::every_stream_to_peers_ended);
  // Nothing may look at the caller's memory once this has been thrown.
  shut_down();
  throw TransportError(failure_);
}

void GrpcWire::suspect(const std::string& what, bool certain) {
  if (phase_ >= Phase::closing || !failure_.empty()) return;
  if (trouble_.empty()) since_ = Clock::now();
  if (trouble_.empty() || (certain && !certain_)) {
    trouble_ = what;
    certain_ = certain;
  }
}

void GrpcWire::opened(Rank to) { peers_[static_cast<std::size_t>(to)].opened = true; }

void GrpcWire::arrived(IncomingStream& stream, const GrpcIdentity& who, const std::string& unfit) {
  const std::string reason = unfit.empty() ? unfit_identity(who) : unfit;
  // One that knows the secret and has another size shows that this run was started wrongly.
  if (same_secret(who.job, options_.job) && who.ranks != options_.ranks) suspect(reason, true);
  std::erase_if(refused_, [](const auto& old) { return old->idle(); });
  if (!reason.empty()) {
    stream.refuse(reason);
    refused_.push_back(std::move(next_));
  } else {
    Peer& peer = peers_[static_cast<std::size_t>(who.rank)];
    if (peer.in != nullptr) refused_.push_back(std::move(peer.in));
    peer.in = std::move(next_);
    peer.in->accept(who.rank);
  }
  listen_for_next();
}

std::string GrpcWire::unfit_identity(const GrpcIdentity& who) const {
  if (!same_secret(who.job, options_.job)) return "it belongs to another run: its job differs";
  if (who.ranks != options_.ranks) {
    return "rank " + std::to_string(who.rank) + " was started for " + std::to_string(who.ranks) +
           " ranks, this run has " + std::to_string(options_.ranks);
  }
  if (who.rank < 0 || who.rank >= options_.ranks || who.rank == options_.rank) {
    return "there is no place for a rank " + std::to_string(who.rank) + " at rank " +
           std::to_string(options_.rank) + " of " + std::to_string(options_.ranks);
  }
  const Peer& peer = peers_[static_cast<std::size_t>(who.rank)];
  if (peer.in != nullptr && !peer.in->ended()) {
    return "rank " + std::to_string(who.rank) + " is already here";
  }
  if (phase_ != Phase::listening) return "the run has begun";
  return "";
}

void GrpcWire::received(Rank from, std::span<const std::span<const std::byte>> pieces,
                        const std::shared_ptr<const void>& keeper) {
  if (phase_ >= Phase::closing || !failure_.empty()) {
    read(from);
    return;
  }
  client_.received(from, pieces, keeper);
}

void GrpcWire::control(Rank from, const std::string& message) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  if (message.starts_with(question) && phase_ == Phase::connected && failure_.empty()) {
    peer.in->write_control(reply + client_.occupation());
  } else if (message.starts_with(reply)) {
    ++peer.answers;
    peer.answer = message.substr(1);
  }
}

void GrpcWire::outgoing_ended(Rank to, const StreamEnd& end) {
  if (phase_ >= Phase::closing || !failure_.empty()) return;
  Peer& peer = peers_[static_cast<std::size_t>(to)];
  const std::string name = "rank " + std::to_string(to);
  switch (end.kind) {
    case StreamEnd::Kind::closed:
      peer.takes_none = true;
      break;
    case StreamEnd::Kind::aborted:
      suspect(end.text, true);
      break;
    case StreamEnd::Kind::refused:
      suspect(name + " at " + peer.address + " refused rank " + std::to_string(options_.rank) +
                  ": " + end.text,
              true);
      break;
    case StreamEnd::Kind::unreachable:
    case StreamEnd::Kind::lost:
      // Before the run has begun a rank may still be started again.
      if (phase_ == Phase::connected) {
        suspect(name + " was lost: " + end.text, false);
      } else {
        peer.opened = false;
        peer.retry = true;
      }
      break;
  }
}

void GrpcWire::incoming_ended(Rank from, const StreamEnd& end) {
  if (end.kind == StreamEnd::Kind::closed) {
    peers_[static_cast<std::size_t>(from)].sent_all = true;
  } else if (phase_ == Phase::connected) {
    suspect("rank " + std::to_string(from) + " was lost: " + end.text, false);
  }
}

}  // namespace collbench

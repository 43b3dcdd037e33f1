// A wire's reactions to the events of its streams.
#include <algorithm>

#include <fmt/format.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <sys/resource.h>

#include "core/error.h"
#include "transports/grpc/wire.h"

namespace collbench {

namespace {

using std::chrono::milliseconds;
using Kind = GrpcControl::Kind;

constexpr milliseconds grace{300};         // in which another peer may tell the cause of a break
constexpr milliseconds abort_linger{500};  // in which peers take the reason of an abort
constexpr Seconds foreign_linger{10.0};    // in which one of another run finds it out
constexpr const char* started_twice = " is already here: it was started twice";
constexpr std::size_t longest_reason = 1024;  // bytes; well under the limit of metadata
constexpr const char* raise_limit = "raise ulimit -n, or its hard limit, -Hn";

/// What ranks with few open files call a break of the peer: connections to and from each one and
/// what is watched need up to three. Empty if this process may have so many.
std::string few_files_for(int ranks) {
  rlimit limit{};
  const auto needed = 3 * static_cast<rlim_t>(ranks) + 32;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return "";
  return fmt::format(" ({} open files a process are few for {} ranks: {})", limit.rlim_cur, ranks,
                     raise_limit);
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
  if (there.out == nullptr) open_stream(peer);
  return *there.out;
}

void GrpcWire::read(Rank from) { peers_[static_cast<std::size_t>(from)].in->read(); }

void GrpcWire::ask(Rank peer) { tell(peer, {Kind::question, "", {}}); }

bool GrpcWire::poll(Seconds longest) {
  if (!failure_.empty()) throw TransportError(failure_);
  if (!trouble_.empty()) longest = std::min<Seconds>(longest, milliseconds(10));
  if (retries_) open_again();
  const bool handled = handle_one(longest);
  if (!trouble_.empty() && (certain_ || Clock::now() - since_ > grace)) {
    const std::string cause = trouble_;
    fail(cause);
  }
  return handled;
}

bool GrpcWire::handle_one(Seconds longest) {
  server_->guard().note_poll();
  void* tag = nullptr;
  bool ok = false;
  const auto status = queue().AsyncNext(&tag, &ok, deadline_after(longest));
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

bool GrpcWire::every_foreigner_answered() const {
  for (Rank r = 0; r < options_.ranks; ++r) {
    const Peer& peer = peers_[static_cast<std::size_t>(r)];
    if (peer.foreign && !peer.answered && !server_->guard().has_refused(r)) return false;
  }
  return true;
}

void GrpcWire::fail(const std::string& reason) {
  failure_ = reason.substr(0, longest_reason);
  const bool is_told = failure_.find(raise_limit) != failure_.npos;  // by a peer
  if (!is_told) failure_ += few_files_for(options_.ranks);
  for (Peer& peer : peers_) {
    if (peer.in != nullptr) peer.in->abort(failure_);
  }
  drain_until(Clock::now() + abort_linger, &GrpcWire::every_stream_to_peers_ended);
  if (phase_ == Phase::listening) {
    const Seconds linger = std::min(foreign_linger, options_.timeout);
    drain_until(Clock::now() + std::chrono::duration_cast<Clock::duration>(linger),
                &GrpcWire::every_foreigner_answered);
  }
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

void GrpcWire::called(IncomingStream& /*stream*/) {
  std::erase_if(refused_, [](const auto& old) { return old->idle(); });
  std::erase_if(greeting_, [](const auto& old) { return old->idle(); });
  greeting_.push_back(std::move(next_));
  listen_for_next();
}

void GrpcWire::arrived(IncomingStream& stream, const GrpcIdentity& identity) {
  const auto found = std::find_if(greeting_.begin(), greeting_.end(),
                                  [&](const auto& held) { return held.get() == &stream; });
  std::unique_ptr<IncomingStream> proved = std::move(*found);
  greeting_.erase(found);
  const std::string reason = unfit_identity(identity);
  // A caller with the right token but another world size, or, while ranks join, a second process
  // with the same rank: the run was started wrongly and ends.
  const bool twice = phase_ == Phase::listening && reason.ends_with(started_twice);
  if (identity.ranks != options_.ranks || twice) suspect(reason, true);
  if (!reason.empty()) {
    proved->refuse(reason);
    refused_.push_back(std::move(proved));
    return;
  }
  proved_[proved->connection()] = identity.rank;
  server_->guard().prove(proved->connection());
  Peer& peer = peers_[static_cast<std::size_t>(identity.rank)];
  if (peer.in != nullptr) refused_.push_back(std::move(peer.in));
  peer.in = std::move(proved);
  peer.in->accept();
  reach(identity.rank);
}

void GrpcWire::went_away(const GrpcIdentity& claimed) {
  if (claimed.rank < 0 || claimed.rank >= options_.ranks) return;
  peers_[static_cast<std::size_t>(claimed.rank)].answered = true;
}

Rank GrpcWire::rank_behind(const std::string& connection) const {
  const auto found = proved_.find(connection);
  return found == proved_.end() ? -1 : found->second;
}

std::string GrpcWire::unfit_identity(const GrpcIdentity& identity) const {
  if (identity.ranks != options_.ranks) {
    return "rank " + std::to_string(identity.rank) + " was started for " +
           std::to_string(identity.ranks) + " ranks, this run has " +
           std::to_string(options_.ranks);
  }
  if (identity.rank == options_.rank)
    return "rank " + std::to_string(identity.rank) + started_twice;
  if (identity.rank < 0 || identity.rank >= options_.ranks) {
    return "there is no place for a rank " + std::to_string(identity.rank) + " at rank " +
           std::to_string(options_.rank) + " of " + std::to_string(options_.ranks);
  }
  const Peer& peer = peers_[static_cast<std::size_t>(identity.rank)];
  if (peer.in != nullptr && !peer.in->ended()) {
    return "rank " + std::to_string(identity.rank) + started_twice;
  }
  if (phase_ >= Phase::closing || !failure_.empty())
    return "rank " + std::to_string(options_.rank) + " is ending";
  if (phase_ == Phase::connected && peer.in != nullptr) return "the run has begun";
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

void GrpcWire::control(Rank from, std::string message) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  GrpcControl control = read_control(message, options_.ranks);
  switch (control.kind) {
    case Kind::question:
      if (phase_ == Phase::connected && failure_.empty()) {
        tell(from, {Kind::reply, client_.occupation(), {}});
      }
      break;
    case Kind::reply:
      ++peer.answers;
      peer.answer = std::move(control.text);
      break;
    case Kind::ready:
      peer.ready = true;
      break;
    case Kind::begin:
      may_begin_ = may_begin_ || from == parent_;
      break;
    case Kind::missing:
      std::erase(control.ranks, options_.rank);
      peer.misses = std::move(control.ranks);
      break;
    case Kind::welcome:
    case Kind::unknown:
      break;
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
    case StreamEnd::Kind::foreign:
    case StreamEnd::Kind::refused:
      peer.foreign = end.kind == StreamEnd::Kind::foreign;
      // A stream that was opened back and is not needed: the peer may have finished.
      if (phase_ == Phase::connected && !peer.opened && !peer.out->has_unsent()) {
        peer.takes_none = true;
        break;
      }
      suspect(name + " at " + peer.address + " refused rank " + std::to_string(options_.rank) +
                  ": " + end.text,
              true);
      break;
    case StreamEnd::Kind::unreachable:
    case StreamEnd::Kind::lost:
      // Before the run has begun a rank may still be started again.
      if (phase_ == Phase::connected && peer.opened) {
        suspect(name + " was lost: " + end.text, false);
      } else {
        peer.opened = false;
        peer.trouble = end.text;
        peer.retry = true;
        retries_ = true;
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

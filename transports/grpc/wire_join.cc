// Joining of the ranks of a wire, and opening of streams later.
#include <algorithm>

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>

#include "core/error.h"
#include "transports/grpc/wire.h"

namespace collbench {

namespace {

using Kind = GrpcControl::Kind;

constexpr Seconds retry_pause{0.05};
constexpr Seconds report_period{2};           // or a quarter of the timeout
constexpr std::size_t most_named = 64;        // missing ranks
constexpr std::size_t longest_trouble = 160;  // characters

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

// Of gRPC's "failed to connect to all addresses; last error: UNKNOWN: ipv4:...: Failed to connect
// to remote host: REASON" only REASON: who was called is told beside it.
std::string reason_in(const std::string& text, bool tls) {
  constexpr std::string_view before_reason[] = {"last error: ",
                                                "Failed to connect to remote host: "};
  std::string reason = text;
  for (const std::string_view words : before_reason) {
    const std::size_t found = reason.rfind(words);
    if (found != std::string::npos) reason.erase(0, found + words.size());
  }
  reason = reason.substr(0, longest_trouble);
  if (tls && text.find("andshake") != std::string::npos) {
    reason += "; all certificates must be valid, of one authority and bear the name that is called";
  }
  return reason;
}

std::string name_of(Rank rank) { return "rank " + std::to_string(rank); }

}  // namespace

void GrpcWire::connect(const std::vector<std::string>& addresses) {
  require(std::ssize(addresses) == options_.ranks,
          "grpc: connect() needs the addresses of all " + std::to_string(options_.ranks) +
              " ranks, not " + std::to_string(addresses.size()));
  require(phase_ == Phase::listening && children_.empty() && parent_ < 0,
          "grpc: connect() must be called only once");
  require_secure({options_.job, options_.tls}, addresses);
  const std::string here = host_of(addresses[static_cast<std::size_t>(options_.rank)]);
  ranks_here_ =
      static_cast<int>(std::count_if(addresses.begin(), addresses.end(),
                                     [&](const auto& there) { return host_of(there) == here; }));
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    peers_[r].address = addresses[r];
    if (peers_[r].in != nullptr)
      reach(static_cast<Rank>(r));  // it called before its address was known here
  }
  parent_ = joining_parent(options_.rank);
  children_ = joining_children(options_.rank, options_.ranks);
  if (parent_ >= 0) await_joining(parent_);
  for (const Rank child : children_) await_joining(child);
  const Clock::time_point start = Clock::now();
  const Seconds period = std::min(report_period, options_.timeout / 4);
  Clock::time_point reported = start;
  while (!advance_joining()) {
    poll(retry_pause);
    options_.while_waiting();
    const Clock::time_point now = Clock::now();
    if (now - start > options_.timeout) {
      fail(name_of(options_.rank) + " waited " + to_string(options_.timeout) + " for " + missing());
    }
    if (now - start < period) continue;
    // What is missing is told as soon as it changes: ranks that time out now must know it.
    await_orphans();
    tell_missing();
    if (now - reported < period) continue;
    reported = now;
    if (options_.on_waiting) options_.on_waiting("waiting for " + missing());
  }
  phase_ = Phase::connected;
}

void GrpcWire::await_joining(Rank peer) {
  peers_[static_cast<std::size_t>(peer)].awaited = true;
  reach(peer);
}

// In place of a missing child its children are tried, so that exactly the missing ranks are named,
// not everything below the child.
void GrpcWire::await_orphans() {
  for (Rank r = 0; r < options_.ranks; ++r) {
    const Peer& peer = peers_[static_cast<std::size_t>(r)];
    if (!peer.awaited || peer.opened || r == parent_) continue;
    for (const Rank child : joining_children(r, options_.ranks)) {
      if (!peers_[static_cast<std::size_t>(child)].awaited) await_joining(child);
    }
  }
}

bool GrpcWire::children_ready() const {
  return std::all_of(children_.begin(), children_.end(), [this](Rank child) {
    const Peer& peer = peers_[static_cast<std::size_t>(child)];
    return peer.joined() && peer.ready;
  });
}

// Advances joining as far as possible; true once this rank may begin.
bool GrpcWire::advance_joining() {
  if (!children_ready()) return false;
  if (parent_ >= 0) {
    if (!peers_[static_cast<std::size_t>(parent_)].joined()) return false;
    if (!said_ready_) tell(parent_, {Kind::ready, "", {}});
    said_ready_ = true;
    if (!may_begin_) return false;
  }
  for (const Rank child : children_) tell(child, {Kind::begin, "", {}});
  return true;
}

void GrpcWire::tell(Rank peer, const GrpcControl& control) {
  Peer& there = peers_[static_cast<std::size_t>(peer)];
  if (there.in != nullptr && !there.in->ended()) there.in->write_control(write_control(control));
}

void GrpcWire::tell_missing() {
  for (Rank r = 0; r < options_.ranks; ++r) {
    Peer& peer = peers_[static_cast<std::size_t>(r)];
    if (!peer.awaited || !peer.joined()) continue;
    const GrpcControl control{Kind::missing, "", missing_but_for(r)};
    const std::string message = write_control(control);
    if (message == peer.told) continue;
    peer.told = message;
    tell(r, control);
  }
}

// Whether a neighbour in the tree has come but neither goes on nor says for whom it waits, as one
// that lives would: it may have been stopped meanwhile.
bool GrpcWire::is_silent(Rank r) const {
  const Peer& peer = peers_[static_cast<std::size_t>(r)];
  if (!peer.joined() || !peer.misses.empty()) return false;
  if (r == parent_) return said_ready_ && !may_begin_;
  return !peer.ready && std::find(children_.begin(), children_.end(), r) != children_.end();
}

// Ranks missing here or reported missing by neighbours, without those that `listener` reported.
std::vector<Rank> GrpcWire::missing_but_for(Rank listener) const {
  std::vector<Rank> ranks;
  for (Rank r = 0; r < options_.ranks; ++r) {
    const Peer& peer = peers_[static_cast<std::size_t>(r)];
    if ((peer.awaited && !peer.joined()) || (r != listener && is_silent(r))) ranks.push_back(r);
    if (r != listener) ranks.insert(ranks.end(), peer.misses.begin(), peer.misses.end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::string GrpcWire::missing() const {
  const std::vector<Rank> ranks = missing_but_for(-1);
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), most_named); ++i) {
    const Peer& peer = peers_[static_cast<std::size_t>(ranks[i])];
    names += (names.empty() ? "" : ", ") + name_of(ranks[i]) + " at " + peer.address;
    if (is_silent(ranks[i])) names += " (it has come, but says nothing more)";
    if (peer.opened && !peer.arrived()) names += " (reached, but it has not reached this rank)";
    if (!peer.opened && !peer.trouble.empty())
      names += " (" + reason_in(peer.trouble, options_.tls.used()) + ")";
  }
  if (ranks.size() > most_named) {
    names += " and " + std::to_string(ranks.size() - most_named) + " more";
  }
  return names.empty() ? "ranks that others wait for" : names;
}

void GrpcWire::reach(Rank peer) {
  const Peer& there = peers_[static_cast<std::size_t>(peer)];
  if (there.out == nullptr && !there.address.empty()) open_stream(peer);
}

void GrpcWire::await_open(Rank peer) {
  const Clock::time_point start = Clock::now();
  const OutgoingStream* stream = &to(peer);
  while (!stream->open()) {
    poll(retry_pause);
    stream = &to(peer);
    if (Clock::now() - start < options_.timeout) continue;
    fail(name_of(peer) + " did not answer for " + to_string(options_.timeout));
  }
}

void GrpcWire::open_again() {
  const Clock::time_point now = Clock::now();
  if (now - retried_ < retry_pause) return;
  retried_ = now;
  retries_ = false;
  std::erase_if(abandoned_, [](const auto& stream) { return stream->idle(); });
  for (Rank r = 0; r < options_.ranks; ++r) {
    if (peers_[static_cast<std::size_t>(r)].retry) open_stream(r);
  }
}

}  // namespace collbench

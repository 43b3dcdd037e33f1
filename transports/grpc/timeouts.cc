#include "transports/grpc/timeouts.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include <sched.h>

namespace collbench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Seconds sleep_at_most{0.02};
constexpr Seconds sleep_sending{0.001};
constexpr Seconds release_within{1.0};
// Why a peer has ended may come behind its end, by a thread of gRPC for which ranks that wait and
// look leave few turns.
constexpr Seconds reason_within{1.0};
// A peer that has never answered may still be joining. It looks at no heartbeat while it waits for
// a third rank, and names that rank when its own timeout is over, which began hardly earlier.
constexpr Seconds joined_within{1.0};

// Heartbeats and timeouts of a wait that has become long.
class StallWatch {
 public:
  StallWatch(GrpcWire& wire, const GrpcAwaited& awaited, Rank rank, const GrpcTimeouts& patience)
      : wire_(wire),
        awaited_(awaited),
        rank_(rank),
        timeout_(patience.timeout),
        heartbeat_(std::min(patience.heartbeat, patience.timeout / 4)) {}

  void look() {
    const Clock::time_point now = Clock::now();
    const GrpcAwaited::Lack lack = awaited_.lack();
    if (lack.peer != last_.peer || lack.bytes != last_.bytes || lack.handed != last_.handed) {
      last_ = lack;
      moved_ = lived_ = asked_ = now;
      if (lack.peer >= 0) answers_ = wire_.answers(lack.peer);
    }
    if (lack.peer < 0) return;
    const std::string peer = "rank " + std::to_string(lack.peer);
    const std::string self = "rank " + std::to_string(rank_) + " " + describe(lack);
    // A peer that has received everything may end before gRPC releases the memory here.
    const bool long_since = now - moved_ > release_within;
    const bool gone = (long_since && wire_.refuses(lack.peer)) ||
                      (lack.sending ? long_since && wire_.takes_none(lack.peer) : lack.ended);
    if (!gone) gone_since_ = now;
    if (now - gone_since_ > reason_within) wire_.fail(peer + " has ended, but " + self);
    ask(lack.peer, now);
    const Seconds joins = answers_ == 0 ? std::min(joined_within, timeout_ / 4) : Seconds{0};
    if (now - lived_ > timeout_ + joins) {
      wire_.fail(peer + " did not answer for " + to_string(timeout_) + " (" + self + ")");
    }
    if (now - moved_ > 2 * timeout_) {
      wire_.fail(peer + " lives but moved nothing for " + to_string(2 * timeout_) + ": " + self +
                 ", and " + peer + " " + wire_.answer(lack.peer));
    }
  }

 private:
  void ask(Rank peer, Clock::time_point now) {
    if (wire_.answers(peer) > answers_) {
      answers_ = wire_.answers(peer);
      lived_ = now;
    }
    if (now - asked_ < heartbeat_) return;
    asked_ = now;
    wire_.ask(peer);
  }

  GrpcWire& wire_;
  const GrpcAwaited& awaited_;
  Rank rank_;
  Seconds timeout_;
  Seconds heartbeat_;
  GrpcAwaited::Lack last_;
  Clock::time_point moved_ = Clock::now();  // something came
  Clock::time_point lived_ = moved_;        // something or an answer came
  Clock::time_point asked_ = moved_;
  Clock::time_point gone_since_ = moved_;
  std::uint64_t answers_ = 0;
};

// How long to poll, and how long to poll and yield after that, before sleeping.
struct PollingTimes {
  microseconds spin;
  microseconds yield;
};

// A yield that takes this long means that another thread ran, so the cores are contended. This is
// measured because ranks in other containers or namespaces, and other users' processes, cannot be
// counted.
constexpr microseconds crowded_yield{30};
constexpr milliseconds crowded_for{50};  // then it is tried again

/// Whether recent yields let other threads run.
class Crowd {
 public:
  bool here(Clock::time_point now) const { return now < until_; }
  void give_way() {
    const Clock::time_point before = Clock::now();
    sched_yield();
    const Clock::time_point after = Clock::now();
    if (after - before > crowded_yield) until_ = after + crowded_for;
  }

 private:
  Clock::time_point until_;
};

/// The usual gap between events. If it is longer than the time of spinning and yielding, as on slow
/// networks, staying awake gains nothing and takes the core from threads that compute meanwhile.
class UsualGap {
 public:
  void note(Seconds gap) { gap_ += (gap - gap_) / 4; }
  bool exceeds(Seconds patience) const { return gap_ > patience * 2; }

 private:
  Seconds gap_{0};
};

PollingTimes patience_of(int ranks_here, bool sending) {
  static const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (ranks_here <= cores || sending) return {microseconds(20), microseconds(1000)};
  if (ranks_here <= 3 * cores) return {microseconds(10), microseconds(100)};
  return {microseconds(0), microseconds(0)};
}

}  // namespace

std::string describe(const GrpcAwaited::Lack& lack) {
  return std::string(lack.sending ? "waits to hand " : "waits for ") +
         std::to_string(lack.bytes.count) +
         (lack.sending ? " bytes to rank " : " bytes from rank ") + std::to_string(lack.peer);
}

void wait_on(GrpcWire& wire, const GrpcPoll& poll, const GrpcAwaited& awaited, Rank rank,
             const GrpcTimeouts& limits) {
  if (awaited.done()) return;
  // The end of a send is no event: gRPC releases the memory without waking the waiting thread.
  const bool sending = awaited.lack().sending;
  const PollingTimes patience = patience_of(wire.ranks_here(), sending);
  static thread_local Crowd crowd;
  static thread_local UsualGap gap;
  StallWatch watch(wire, awaited, rank, limits);
  Clock::time_point idle_since = Clock::now();
  Seconds sleep{0};
  for (;;) {
    if (poll(sleep)) {
      gap.note(Clock::now() - idle_since);
      if (awaited.done()) return;
      idle_since = Clock::now();
      sleep = Seconds(0);
      continue;
    }
    // gRPC's own threads may have released the last slice, which is no event.
    if (awaited.done()) return;
    const Clock::time_point now = Clock::now();
    const auto idle = now - idle_since;
    const bool stays_awake = !gap.exceeds(patience.spin + patience.yield);
    if (stays_awake && (sending || !crowd.here(now))) {
      if (idle < patience.spin) continue;
      if (idle < patience.spin + patience.yield) {
        crowd.give_way();
        continue;
      }
    }
    watch.look();
    sleep = std::min(sending ? sleep_sending : sleep_at_most, limits.timeout / 4);
  }
}

}  // namespace collbench

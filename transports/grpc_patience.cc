#include "transports/grpc_patience.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include <sched.h>

namespace collbench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr Seconds sleep_at_most{0.02};
constexpr Seconds sleep_sending{0.001};
constexpr Seconds answer_within{2.0};

// Watches a wait that has become long.
class Watch {
 public:
  Watch(GrpcWire& wire, GrpcAwaited& awaited, Rank rank, Seconds timeout)
      : wire_(wire), awaited_(awaited), rank_(rank), timeout_(timeout), moved_(Clock::now()) {}

  void look() {
    const Clock::time_point now = Clock::now();
    const GrpcAwaited::Lack lack = awaited_.lack();
    if (lack.peer != last_.peer || lack.bytes != last_.bytes) {
      last_ = lack;
      moved_ = now;
      asked_ = false;
    }
    if (lack.peer < 0) return;
    const std::string peer = "rank " + std::to_string(lack.peer);
    const std::string self = "rank " + std::to_string(rank_) + " " + describe(lack);
    const bool gone =
        lack.sending ? wire_.takes_none(lack.peer) : lack.streamed && wire_.sent_all(lack.peer);
    if (gone) wire_.fail(peer + " has ended, but " + self);
    const Seconds silent = now - moved_;
    if (silent < timeout_) return;
    if (!asked_) {
      asked_ = true;
      asked_at_ = now;
      answers_ = wire_.answers(lack.peer);
      wire_.ask(lack.peer);
    }
    const bool lives = wire_.answers(lack.peer) > answers_;
    if (!lives && now - asked_at_ > std::min(answer_within, timeout_ / 2)) {
      wire_.fail(peer + " did not answer for " + to_string(timeout_) + " (" + self + ")");
    }
    if (lives && silent > 2 * timeout_) {
      wire_.fail(peer + " lives but moved nothing for " + to_string(2 * timeout_) + ": " + self +
                 ", and " + peer + " " + wire_.answer(lack.peer));
    }
  }

 private:
  GrpcWire& wire_;
  GrpcAwaited& awaited_;
  Rank rank_;
  Seconds timeout_;
  Clock::time_point moved_;
  GrpcAwaited::Lack last_;
  bool asked_ = false;
  Clock::time_point asked_at_;
  std::uint64_t answers_ = 0;
};

// How long to poll, and how long to poll and yield after that, before sleeping.
struct Patience {
  microseconds spin;
  microseconds yield;
};

Patience patience_of(int ranks_here, bool sending) {
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

void wait_on(GrpcWire& wire, GrpcAwaited& awaited, Rank rank, Seconds timeout) {
  if (awaited.done()) return;
  // The end of a send is no event: gRPC lets go of the memory without waking the one who waits.
  const bool sending = awaited.lack().sending;
  const Patience patience = patience_of(wire.ranks_here(), sending);
  Watch watch(wire, awaited, rank, timeout);
  Clock::time_point idle_since = Clock::now();
  Seconds sleep{0};
  for (;;) {
    if (wire.poll(sleep)) {
      if (awaited.done()) return;
      idle_since = Clock::now();
      sleep = Seconds(0);
      continue;
    }
    // gRPC's own threads may have released the last slice, which is no event.
    if (awaited.done()) return;
    const auto idle = Clock::now() - idle_since;
    if (idle < patience.spin) continue;
    if (idle < patience.spin + patience.yield) {
      sched_yield();
      continue;
    }
    watch.look();
    sleep = std::min(sending ? sleep_sending : sleep_at_most, timeout / 4);
  }
}

}  // namespace collbench

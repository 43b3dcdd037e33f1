#include "transports/shm/meeting.h"

namespace collbench {

namespace {

constexpr Rank no_one = -1;  // the wait depends on all ranks

}  // namespace

ShmMeeting::ShmMeeting(const ShmView& view, Rank rank)
    : lines_(view.world),
      waiter_(view, rank),
      rank_(rank),
      operation_(lines_.arrival(rank).sequence.load()) {}

void ShmMeeting::arrive(std::uint64_t in, std::uint64_t out) {
  ++operation_;
  ShmArrival& line = lines_.arrival(rank_);
  line.in.store(in, std::memory_order_relaxed);
  line.out.store(out, std::memory_order_relaxed);
  line.sequence.store(operation_, std::memory_order_release);
  waiter_.notify();
}

void ShmMeeting::await_arrivals() {
  for (Rank r = 0; r < lines_.header().ranks; ++r) {
    ShmArrival& line = lines_.arrival(r);
    waiter_.wait_until(
        r, [&] { return line.sequence.load(std::memory_order_acquire) >= operation_; },
        [&] { return missing("did not arrive", false); });
  }
  // All ranks have arrived, so they have left the previous operation, whose counters can be reset
  // for the next one. That one begins only after rank 0 has arrived there, which publishes the
  // reset.
  if (rank_ != 0) return;
  ShmHeader& header = lines_.header();
  header.claimed[(operation_ + 1) % 2].value.store(0, std::memory_order_relaxed);
  header.done[(operation_ + 1) % 2].value.store(0, std::memory_order_relaxed);
}

std::int64_t ShmMeeting::claim_next() {
  return static_cast<std::int64_t>(
      lines_.header().claimed[operation_ % 2].value.fetch_add(1, std::memory_order_relaxed));
}

bool ShmMeeting::claim(int bit) {
  const std::uint64_t mask = std::uint64_t{1} << bit;
  return (lines_.header().claimed[operation_ % 2].value.fetch_or(mask, std::memory_order_relaxed) &
          mask) == 0;
}

void ShmMeeting::finish(std::int64_t pieces) {
  lines_.header().done[operation_ % 2].value.fetch_add(static_cast<std::uint64_t>(pieces));
}

void ShmMeeting::await_done(std::int64_t all) {
  lines_.arrival(rank_).finished.store(operation_, std::memory_order_relaxed);
  waiter_.notify();
  // Acquires what the folds wrote; `finished` above serves error messages only.
  auto& done = lines_.header().done[operation_ % 2].value;
  waiter_.wait_until(
      no_one,
      [&] { return static_cast<std::int64_t>(done.load(std::memory_order_acquire)) == all; },
      [&] { return missing("did not finish its part", true); });
}

// Names the ranks that have not begun (or not finished) the current operation.
std::string ShmMeeting::missing(std::string_view what, bool finished) const {
  std::string names;
  for (Rank r = 0; r < lines_.header().ranks; ++r) {
    const ShmArrival& line = lines_.arrival(r);
    const std::uint64_t reached = finished ? line.finished.load() : line.sequence.load();
    if (reached < operation_) names += (names.empty() ? "" : ", ") + std::to_string(r);
  }
  return "rank " + names + " " + std::string(what) + " within the timeout";
}

}  // namespace collbench

#include "transports/cuda/call_meeting.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int polls_before_yield = 2000;
constexpr int closed = -1;

}  // namespace

CallMeeting::CallMeeting(int ranks, Seconds timeout)
    : timeout_(timeout), came_(static_cast<std::size_t>(ranks)) {}

void CallMeeting::meet(Rank rank, const std::function<void()>& work) {
  const std::uint64_t round = round_.load(std::memory_order_acquire);
  came_[static_cast<std::size_t>(rank)].store(round + 1, std::memory_order_relaxed);
  int arrived = arrived_.load(std::memory_order_acquire);
  do {
    if (arrived == closed) turn_away();
  } while (!arrived_.compare_exchange_weak(arrived, arrived + 1, std::memory_order_acq_rel,
                                           std::memory_order_acquire));
  if (arrived + 1 == ranks()) {
    conclude(work);
  } else {
    wait_for(round);
  }
  if (failure_) std::rethrow_exception(failure_);
}

void CallMeeting::conclude(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  const bool ends = failure_ || why_;
  if (!ends) arrived_.store(0, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  // After the round: a rank that sees the meeting closed also sees whether its own round is over.
  if (ends) arrived_.store(closed, std::memory_order_release);
}

void CallMeeting::wait_for(std::uint64_t round) {
  const auto deadline = Clock::now() + timeout_;
  int polls = 0;
  while (round_.load(std::memory_order_acquire) == round) {
    if (arrived_.load(std::memory_order_acquire) == closed) {
      if (round_.load(std::memory_order_acquire) != round) return;
      turn_away();
    }
    if (polls < polls_before_yield) {
      ++polls;
      pause_processor();
      continue;
    }
    std::this_thread::yield();
    if (Clock::now() > deadline) give_up(round);
  }
}

// Does nothing if all have come: their work has a time limit of its own.
void CallMeeting::give_up(std::uint64_t round) {
  std::vector<std::size_t> missing;
  for (std::size_t r = 0; r < came_.size(); ++r) {
    if (came_[r].load(std::memory_order_relaxed) <= round) missing.push_back(r);
  }
  const std::lock_guard lock(mutex_);
  if (!close() || why_) return;
  why_ = fmt::format("rank(s) {} did not come to the collective on the GPUs within {}",
                     fmt::join(missing, ", "), to_string(timeout_));
}

void CallMeeting::abort(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!why_) why_ = why;
  close();
}

// Requires the lock. False if all ranks have come: the last of them closes it after the work.
bool CallMeeting::close() {
  int arrived = arrived_.load();
  while (arrived != closed) {
    if (arrived == ranks()) return false;
    if (arrived_.compare_exchange_weak(arrived, closed)) return true;
  }
  return true;
}

void CallMeeting::turn_away() {
  if (failure_) std::rethrow_exception(failure_);
  const std::lock_guard lock(mutex_);
  throw TransportError(why_.value_or(""));
}

}  // namespace collbench

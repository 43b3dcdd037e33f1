#include "core/stop_request.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace collbench {
namespace {

std::atomic<int> caught = 0;
std::atomic<std::int64_t> caught_at_ns = 0;
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);  // a handler may touch them

std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

extern "C" void note_signal(int number) {
  caught_at_ns = now_ns();
  caught = number;
}

}  // namespace

void watch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int stop_signal() noexcept { return caught; }

std::string stop_name(std::int64_t number) {
  return number == 0 ? "" : (number == SIGINT ? "SIGINT" : "SIGTERM");
}
std::string stop_signal_name() { return stop_name(stop_signal()); }

void leave_if_stopped() {
  if (stop_signal() != 0) throw Stopped("stopped by " + stop_signal_name());
}

Seconds time_since_stop_signal() noexcept {
  if (caught == 0) return Seconds{0};
  return Seconds{static_cast<double>(now_ns() - caught_at_ns) * 1e-9};
}

}  // namespace collbench

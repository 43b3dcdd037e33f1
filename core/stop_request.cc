#include "core/stop_request.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace collbench {
namespace {

std::atomic<int> caught = 0;
std::atomic<std::int64_t> caught_at_ns = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);  // a handler may touch them

std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

constexpr std::int64_t repeat_ns = 500'000'000;  // so soon after the first is no second wish
std::array<std::atomic<pid_t>, 256> groups{};
std::atomic<bool> groups_killed = false;

bool kill_groups() {
  bool any = false;
  for (const std::atomic<pid_t>& group : groups) {
    const pid_t number = group;
    any = (number > 0 && kill(-number, SIGKILL) == 0) || any;
  }
  return any;
}

extern "C" void note_signal(int number) {
  if (caught == 0) {
    caught_at_ns = now_ns();
    caught = number;
    return;
  }
  if (now_ns() - caught_at_ns < repeat_ns) return;
  const bool waits_for_groups = kill_groups() && !groups_killed.exchange(true);
  if (waits_for_groups) return;
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void watch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void kill_on_second_stop(pid_t group) {
  for (std::atomic<pid_t>& place : groups) {
    pid_t none = 0;
    if (place.compare_exchange_strong(none, group)) return;
  }
}

void forget_group(pid_t group) {
  for (std::atomic<pid_t>& place : groups) {
    pid_t expected = group;
    if (place.compare_exchange_strong(expected, 0)) return;
  }
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

#include "transports/mpi/profile/thread_time.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace collbench {
namespace {

// The kernel is asked for delays (some 2 us) after so long only.
constexpr std::int64_t notable_ns = 500'000;

struct ThreadTime {
  std::int64_t entered_ns = 0;  // the call of MPI at hand
  std::int64_t left_ns = 0;     // the one before
  std::int64_t asked_ns = 0;    // the kernel, and what it said
  std::int64_t delayed_ns = 0;
  std::int64_t not_own_ns = 0;
};

// Set for preloaded libraries only, where it is the quickest.
[[gnu::tls_model("initial-exec")]] thread_local ThreadTime this_thread;

/// How long this thread has been ready to run without a processor since it began; 0 where the
/// kernel does not say.
std::int64_t delayed_ns() {
  struct Descriptor {
    int number = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ~Descriptor() { close(number); }
  };
  thread_local const Descriptor descriptor;
  std::array<char, 96> text{};
  if (pread(descriptor.number, text.data(), text.size() - 1, 0) <= 0) return 0;
  char* second = nullptr;
  std::strtoll(text.data(), &second, 10);
  return std::strtoll(second, nullptr, 10);
}

/// Asks again if that was notably long ago; gives how much it has grown since.
std::int64_t renew_delay(std::int64_t now) {
  if (now - this_thread.asked_ns < notable_ns) return 0;
  const std::int64_t before = std::exchange(this_thread.delayed_ns, delayed_ns());
  this_thread.asked_ns = now;
  return this_thread.delayed_ns - before;
}

/// Of the time since the last call.
std::int64_t delay_before(std::int64_t now) {
  const std::int64_t since = now - this_thread.left_ns;
  if (this_thread.left_ns == 0 || since < notable_ns) return 0;
  return std::clamp<std::int64_t>(renew_delay(now), 0, since);
}

}  // namespace

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void enter_mpi(std::int64_t now) {
  this_thread.not_own_ns += delay_before(now);
  this_thread.entered_ns = now;
}

void leave_mpi(std::int64_t now) {
  renew_delay(now);
  this_thread.not_own_ns += now - this_thread.entered_ns;
  this_thread.left_ns = now;
}

std::uint32_t take_not_own_us() {
  const std::int64_t us = std::exchange(this_thread.not_own_ns, 0) / 1000;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(us, UINT32_MAX));
}

}  // namespace collbench

#include "transports/waiting.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <thread>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace collbench {

namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// What sched_getattr(2) and sched_setattr(2) exchange, which glibc 2.36 does not declare.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t turn_ns;
  std::uint64_t deadline_ns;
  std::uint64_t period_ns;
};

}  // namespace

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

void take_short_turns() {
  SchedulingAttributes now{};
  if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0 || now.policy != SCHED_OTHER) return;
  now.size = sizeof now;
  now.turn_ns = shortest_turn_ns;
  syscall(SYS_sched_setattr, 0, &now, 0);
}

void futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                 std::chrono::nanoseconds limit) {
  constexpr std::int64_t second = 1'000'000'000;
  const timespec time{.tv_sec = limit.count() / second, .tv_nsec = limit.count() % second};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool accept_fences() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void fence_everywhere() { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

}  // namespace collbench

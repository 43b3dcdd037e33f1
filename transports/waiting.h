// Building blocks for waiting for another thread or process of this machine.
//
// Futex words may lie in memory that processes share, so these are not the private forms. A sleep
// has a limit because the thread that should wake the sleeper may have been killed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace collbench {

/// Processors this process may run on (its affinity mask), at least 1.
int usable_cores();

/// The processor's hint for spin loops.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The shortest turn on a processor that Linux grants an ordinary thread. Source: sched_setattr(2).
constexpr std::uint64_t shortest_turn_ns = 100'000;

/// Asks that the calling thread, and what it starts, have their share of busy processors in the
/// shortest turns; every rank begins so. The share stays as it is. Does nothing before Linux 6.12,
/// which has turns of one length, and for threads of another policy than SCHED_OTHER.
///
/// A thread that yields gives the rest of its turn away, and of turns of milliseconds that is
/// nearly all: ranks that wait for each other beside other programs would hardly run.
void take_short_turns();

/// Sleeps while `word` is `seen`, until woken or for `limit` at most. May return early.
void futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                 std::chrono::nanoseconds limit);
void futex_wake_all(std::atomic<std::uint32_t>& word);

/// Registers this process, so that fence_everywhere() of other processes reaches its threads. False
/// if the kernel does not support it.
bool accept_fences();
/// A full memory fence in every running thread of all processes that accept fences, this one's
/// included; costs some microseconds. Does nothing if the kernel does not support it. Source:
/// membarrier(2).
void fence_everywhere();

}  // namespace collbench

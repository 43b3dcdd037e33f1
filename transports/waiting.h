// What waiting for another thread or process of this machine is made of.
//
// Futex words may lie in memory that processes share, so these are not the private forms. A sleep
// has a limit because whoever should wake the sleeper may have been killed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace collbench {

/// Processors this process may run on (its affinity mask), at least 1.
int usable_cores();

/// Tells the processor that this is a loop which waits.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Sleeps while `word` is `seen`, until woken or for `limit` at most. May return early.
void futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                 std::chrono::nanoseconds limit);
void futex_wake_all(std::atomic<std::uint32_t>& word);

/// Lets other processes fence this one's threads by fence_everywhere(). False if the kernel cannot.
bool accept_fences();
/// A full memory fence in every running thread of all processes that accept fences, this one's
/// included; costs some microseconds. Nothing happens if the kernel cannot. Source: membarrier(2).
void fence_everywhere();

}  // namespace collbench

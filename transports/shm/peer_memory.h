// Private memory of the other ranks' processes, read and written through the kernel.
//
// One copy by the kernel, from one process's pages to another's, is less traffic than a copy into
// shared memory by one side and a second one out of it by the other, and both sides need to meet
// only once. It takes the permission to trace the other process (the same user, and no security
// module in the way), so ranks find out first, by reading a value that each announces, and use it
// only where every rank can reach every other: process_vm_readv(2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "transports/shm/layout.h"

namespace collbench {

/// Thread safety: belongs to the thread of its endpoint, and must stay where it is.
class ShmPeerMemory {
 public:
  ShmPeerMemory(ShmWaiter& waiter, std::byte* world, Rank rank);
  ShmPeerMemory(const ShmPeerMemory&) = delete;
  ShmPeerMemory& operator=(const ShmPeerMemory&) = delete;

  /// Says on the rank's arrival line what it knows so far; before it arrives at `operation`.
  void announce(std::uint64_t operation);
  /// Whether all ranks announced that they reach all others; after all have arrived. The same
  /// answer on every rank. While some rank does not know yet it is no, and everybody finds out for
  /// the next operation.
  bool agreed(std::uint64_t operation);

  /// Copies `bytes` at `address` of a rank's process. Ends the world and throws TransportError if
  /// they cannot be reached.
  void read(Rank from, std::uint64_t address, std::byte* into, std::int64_t bytes);
  void write(Rank to, std::uint64_t address, const std::byte* from, std::int64_t bytes);

 private:
  bool reaches_all() const;
  [[noreturn]] void fail(Rank peer, int error);

  ShmWaiter& waiter_;
  ShmLines lines_;
  Rank rank_;
  std::uint64_t probe_;  // what the others read
  ShmReach known_ = ShmReach::unknown;
};

}  // namespace collbench

// Private memory of the other ranks' processes, read and written through the kernel.
//
// process_vm_readv(2) and process_vm_writev(2) copy once, between the pages of two processes.
// Shared memory would need two copies, in and out, and more synchronisation. The kernel requires
// permission to trace the other process (same user, no security module against it). So every rank
// first reads a value that each peer announces, and the method is used only if every rank can read
// every other.
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

  /// Announces on the rank's arrival line what it has found out, before it arrives at `operation`.
  void announce(std::uint64_t operation);
  /// Whether all ranks announced that they reach all others. Call after all have arrived; the
  /// answer is the same on every rank. It is no while some rank has not tried yet; all then try,
  /// for the next operation.
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

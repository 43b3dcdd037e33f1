#include "transports/shm/peer_memory.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include <sys/uio.h>
#include <unistd.h>

#include "core/error.h"

namespace collbench {

namespace {

using TransferCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                 unsigned long);

// 0, or the error of the call that failed. The kernel may stop early, between two pages.
int transfer(TransferCall call, pid_t process, std::byte* local, std::uint64_t address,
             std::int64_t bytes) {
  while (bytes > 0) {
    const auto length = static_cast<std::size_t>(bytes);
    const iovec mine{local, length};
    const iovec theirs{reinterpret_cast<void*>(address), length};
    const ssize_t moved = call(process, &mine, 1, &theirs, 1, 0);
    if (moved < 0 && errno != EINTR) return errno;
    if (moved == 0) return EFAULT;
    if (moved < 0) continue;
    local += moved;
    address += static_cast<std::uint64_t>(moved);
    bytes -= moved;
  }
  return 0;
}

// Unlike any value that another process has at the same address.
std::uint64_t unlikely_value(const void* where) {
  const auto time = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto mixed = static_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15U;
  return mixed ^ reinterpret_cast<std::uintptr_t>(where) ^ static_cast<std::uint64_t>(getpid());
}

}  // namespace

ShmPeerMemory::ShmPeerMemory(ShmWaiter& waiter, std::byte* world, Rank rank)
    : waiter_(waiter), lines_(world), rank_(rank), probe_(unlikely_value(this)) {}

void ShmPeerMemory::announce(std::uint64_t operation) {
  ShmArrival& line = lines_.arrival(rank_);
  line.process.store(getpid(), std::memory_order_relaxed);
  line.probe_address.store(reinterpret_cast<std::uintptr_t>(&probe_), std::memory_order_relaxed);
  line.probe_value.store(probe_, std::memory_order_relaxed);
  line.reach[operation % 2].store(known_, std::memory_order_relaxed);
}

bool ShmPeerMemory::agreed(std::uint64_t operation) {
  bool all = true;
  bool anyone_unsure = false;
  for (Rank r = 0; r < lines_.header().ranks; ++r) {
    const ShmReach reach = lines_.arrival(r).reach[operation % 2].load(std::memory_order_relaxed);
    all = all && reach == ShmReach::everyone;
    anyone_unsure = anyone_unsure || reach == ShmReach::unknown;
  }
  if (anyone_unsure) known_ = reaches_all() ? ShmReach::everyone : ShmReach::not_everyone;
  return all;
}

bool ShmPeerMemory::reaches_all() const {
  for (Rank r = 0; r < lines_.header().ranks; ++r) {
    const ShmArrival& line = lines_.arrival(r);
    std::byte seen[sizeof(std::uint64_t)];
    const std::uint64_t expected = line.probe_value.load(std::memory_order_relaxed);
    const int error = transfer(process_vm_readv, line.process.load(std::memory_order_relaxed), seen,
                               line.probe_address.load(std::memory_order_relaxed), sizeof seen);
    if (error != 0 || std::memcmp(seen, &expected, sizeof seen) != 0) return false;
  }
  return true;
}

void ShmPeerMemory::read(Rank from, std::uint64_t address, std::byte* into, std::int64_t bytes) {
  const pid_t process = lines_.arrival(from).process.load(std::memory_order_relaxed);
  const int error = transfer(process_vm_readv, process, into, address, bytes);
  if (error != 0) fail(from, error);
}

void ShmPeerMemory::write(Rank to, std::uint64_t address, const std::byte* from,
                          std::int64_t bytes) {
  const pid_t process = lines_.arrival(to).process.load(std::memory_order_relaxed);
  const int error =
      transfer(process_vm_writev, process, const_cast<std::byte*>(from), address, bytes);
  if (error != 0) fail(to, error);
}

void ShmPeerMemory::fail(Rank peer, int error) {
  throw TransportError(waiter_.end_world("shared memory: the buffers of rank " +
                                         std::to_string(peer) +
                                         " can no longer be reached: " + std::strerror(error)));
}

}  // namespace collbench

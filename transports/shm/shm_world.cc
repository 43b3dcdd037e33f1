#include "transports/shm/shm_world.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

#include "core/error.h"
#include "transports/memory.h"
#include "transports/shm/layout.h"
#include "transports/waiting.h"

namespace collbench {

namespace {

constexpr int most_ranks = 512;
constexpr double most_stay_seconds = 0.5;  // wait for processes in a visit, after the world's end

}  // namespace

std::size_t ShmLines::footprint(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return sizeof(ShmHeader) + (sizeof(ShmArrival) + 2 * sizeof(ShmInline) + sizeof(ShmBusy)) * n +
         (sizeof(ShmCounter) + (sizeof(ShmSlot) + sizeof(ShmPayload)) * shm_slots) * n * n;
}

std::size_t shm_world_footprint(int ranks) {
  require(ranks >= 1 && ranks <= most_ranks,
          "shared memory holds 1 to 512 ranks, not " + std::to_string(ranks));
  return ShmLines::footprint(ranks);
}

void require_shm_slots(const Traffic& traffic) {
  require(traffic.messages_per_peer_and_round <= shm_slots,
          fmt::format("shared memory holds {} messages per pair of ranks, and this schedule sends "
                      "{} in one round; use fewer segments",
                      shm_slots, traffic.messages_per_peer_and_round));
}

void create_shm_world(std::byte* memory, int ranks, const ShmOptions& options) {
  shm_world_footprint(ranks);  // refuses impossible sizes
  auto& header = *new (memory) ShmHeader{};
  header.ranks = ranks;
  header.cores = options.cores > 0 ? options.cores : usable_cores();
  header.peer_memory = options.peer_memory;
  header.timeout_seconds = options.timeout.count();
}

void abort_shm_world(std::byte* world, std::string_view message) {
  ShmHeader& header = ShmLines(world).header();
  std::uint32_t alive = 0;
  if (!header.aborted.compare_exchange_strong(alive, 1)) return;
  const std::size_t length = std::min(message.size(), shm_message_bytes - 1);
  std::memcpy(header.message, message.data(), length);
  header.message[length] = '\0';
  header.aborted.store(2);
  header.epoch.fetch_add(1);
  futex_wake_all(header.epoch);
}

std::string shm_world_error(const std::byte* world) {
  const ShmHeader& header = ShmLines(const_cast<std::byte*>(world)).header();
  while (header.aborted.load() == 1) std::this_thread::yield();
  return header.aborted.load() == 2 ? header.message : "";
}

std::shared_ptr<std::byte> allocate_shm_world(int ranks, const ShmOptions& options) {
  auto world = allocate_pages({static_cast<std::int64_t>(shm_world_footprint(ranks))});
  create_shm_world(world.get(), ranks, options);
  return world;
}

ShmWaiter::ShmWaiter(const ShmView& view, Rank rank)
    : world_(view.world),
      lines_(view.world),
      header_(lines_.header()),
      visits_(lines_.busy(rank).visits),
      rank_(rank),
      timeout_seconds_(header_.timeout_seconds),
      spins_(header_.ranks <= header_.cores ? 2000 : 1),
      yields_(header_.ranks <= header_.cores ? 20 : 200),
      threads_(view.shared_bytes == 0),
      own_fence_(!accept_fences()) {}

void ShmWaiter::pause() { pause_processor(); }

void ShmWaiter::yield() { sched_yield(); }

double ShmWaiter::seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// After the fence, every rank either is in a visit that began before, which the loop sees, or will
// see `left` in its next begin_visit(). A rank ends its own visit before it waits here, so that two
// leaving ranks do not wait for each other. A process that was killed or stopped in a visit never
// ends it, so waiting for processes has a limit; threads of one process die together.
void ShmWaiter::await_visitors() {
  end_visit();
  header_.left.store(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  fence_everywhere();
  const double deadline = seconds_now() + most_stay_seconds;
  for (Rank r = 0; r < header_.ranks; ++r) {
    while (lines_.busy(r).visits.load(std::memory_order_acquire) != 0) {
      if (!threads_ && seconds_now() > deadline) return;
      yield();
    }
  }
}

std::string ShmWaiter::end_world(const std::string& reason) {
  abort_shm_world(world_, reason);
  await_visitors();
  return shm_world_error(world_);
}

void ShmWaiter::leave() { throw TransportError(end_world({})); }

std::uint32_t ShmWaiter::enlist() {
  header_.sleepers.fetch_add(1);
  const std::uint32_t epoch = header_.epoch.load();
  fence_everywhere();
  return epoch;
}

void ShmWaiter::sleep(std::uint32_t epoch) {
  // The short timeout bounds the cost of a missed wake-up (its sender may be killed between store
  // and wake), and lets the deadline be checked.
  futex_sleep(header_.epoch, epoch, std::chrono::milliseconds(20));
}

void ShmWaiter::wake() {
  header_.epoch.fetch_add(1);
  futex_wake_all(header_.epoch);
}

void ShmWaiter::announce_wait(Rank peer) {
  lines_.busy(rank_).waits_for_plus_one.store(peer + 1, std::memory_order_relaxed);
}

// Follows the chain of waits to the rank that waits for none, which is the one that is stuck.
void ShmWaiter::give_up(Rank peer, std::string reason) {
  Rank stuck = peer;
  for (int hops = 0; stuck >= 0 && hops < header_.ranks; ++hops) {
    const Rank next = lines_.busy(stuck).waits_for_plus_one.load(std::memory_order_relaxed) - 1;
    if (next < 0 || next == peer) break;
    stuck = next;
  }
  if (stuck != peer) {
    reason = "rank " + std::to_string(stuck) + " is stuck: others wait for it, and " + reason;
  }
  throw TransportError(end_world(reason));
}

}  // namespace collbench

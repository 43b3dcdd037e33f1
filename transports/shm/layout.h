// The cache lines of a shared-memory world and the waiting on them, private to the shared-memory
// endpoint.
//
// Everything two ranks touch lies on its own 64-byte line, written by one side. Positions are
// offsets from the start of the shared memory (from address 0 for threads).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transports/shm/shm_world.h"

namespace collbench {

constexpr int shm_slots = 64;           // messages in flight per ordered pair of ranks
constexpr int shm_inline_bytes = 64;    // payload that travels with the slot
constexpr int shm_line_payload = 2040;  // payload of a rank in the in-line protocol
constexpr std::size_t shm_message_bytes = 256;

// Positions in a view, as integers, since the shared memory of threads begins at address 0.
inline std::uint64_t view_position(const ShmView& view, const std::byte* data) {
  return reinterpret_cast<std::uintptr_t>(data) -
         reinterpret_cast<std::uintptr_t>(view.shared_begin);
}
inline std::byte* view_data(const ShmView& view, std::uint64_t position) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(view.shared_begin) +
                                      position);
}
/// Bytes of the heap of a process for each use of scratch memory; the staging half comes second.
inline std::size_t view_half_heap(const ShmView& view) { return view.heap_bytes / 128 * 64; }

/// One message on its way. The k-th message of a pair uses slot k % shm_slots. Four slots share a
/// line: a receiver that is behind fetches four messages at once.
struct alignas(16) ShmSlot {
  std::atomic<std::uint64_t> sequence;  // k + 1 once the message is there
  std::uint64_t position;  // of the data, 0: in the payload; above it what its size gives
};

/// The data of a message that is short enough to travel with its slot.
struct alignas(64) ShmPayload {
  std::byte bytes[shm_inline_bytes];
};

struct alignas(64) ShmCounter {
  std::atomic<std::uint64_t> value;
};

/// Whether a rank can access the private memory of all others (transports/shm/peer_memory.h).
enum class ShmReach : std::uint8_t { unknown, everyone, not_everyone };

/// A rank's announcement that it has arrived at its k-th fused operation, and with which buffers.
struct alignas(64) ShmArrival {
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::uint64_t> in;
  std::atomic<std::uint64_t> out;
  std::atomic<std::uint64_t> finished;       // last operation in which this rank found no more work
  std::atomic<std::uint64_t> probe_address;  // in the rank's process, and what lies there
  std::atomic<std::uint64_t> probe_value;
  std::atomic<int> process;
  // By the parity of the operation: a rank that is ahead must not overwrite what a late one reads.
  std::atomic<ShmReach> reach[2];
};
static_assert(sizeof(ShmArrival) == 64);

/// The same with the data itself, right behind the number, so that a few bytes arrive on one line.
/// Two per rank, used in turn.
struct alignas(64) ShmInline {
  std::atomic<std::uint64_t> sequence;
  std::byte payload[shm_line_payload];
};

/// What a rank is doing, for ranks that end the world and for error messages.
struct alignas(64) ShmBusy {
  std::atomic<int> waits_for_plus_one;  // once a wait has become long: the rank it is for + 1, or 0
  std::atomic<std::uint32_t> visits;    // 1 while it reads or writes memory of other ranks
};

struct alignas(64) ShmHeader {
  int ranks;
  int cores;
  bool peer_memory;
  double timeout_seconds;
  std::atomic<std::uint32_t> aborted;  // 0 alive, 1 message being written, 2 message complete
  std::atomic<std::uint32_t> left;     // 1 once a rank has left: its memory may be released
  char message[shm_message_bytes];
  alignas(64) std::atomic<std::uint32_t> epoch;  // futex word: incremented to wake sleepers
  alignas(64) std::atomic<std::uint32_t> sleepers;
  alignas(64) ShmCounter claimed[2];  // next piece of the fused operation, by parity
  ShmCounter done[2];                 // pieces finished
};

/// The parts of a world, found from its first byte.
class ShmLines {
 public:
  explicit ShmLines(std::byte* world) : world_(world) {}
  ShmHeader& header() const { return *reinterpret_cast<ShmHeader*>(world_); }
  ShmArrival& arrival(Rank r) const { return at<ShmArrival>(arrivals_offset(), r); }
  ShmBusy& busy(Rank r) const { return at<ShmBusy>(busy_offset(), r); }
  ShmInline& inline_line(Rank r, std::uint64_t parity) const {
    return at<ShmInline>(inlines_offset(), 2 * r + static_cast<int>(parity));
  }
  /// Messages of the pair that the receiver has taken; written by the receiver.
  ShmCounter& taken(Rank from, Rank to) const {
    return at<ShmCounter>(taken_offset(), from * header().ranks + to);
  }
  ShmSlot& slot(Rank from, Rank to, std::uint64_t k) const {
    return *(reinterpret_cast<ShmSlot*>(world_ + slots_offset()) + place(from, to, k));
  }
  ShmPayload& payload(Rank from, Rank to, std::uint64_t k) const {
    return *(reinterpret_cast<ShmPayload*>(world_ + payloads_offset()) + place(from, to, k));
  }
  static std::size_t footprint(int ranks);

 private:
  template <class Line>
  Line& at(std::size_t offset, int index) const {
    return *(reinterpret_cast<Line*>(world_ + offset) + index);
  }
  std::size_t place(Rank from, Rank to, std::uint64_t k) const {
    return static_cast<std::size_t>(from * header().ranks + to) * shm_slots + k % shm_slots;
  }
  std::size_t arrivals_offset() const { return sizeof(ShmHeader); }
  std::size_t inlines_offset() const {
    return arrivals_offset() + sizeof(ShmArrival) * static_cast<std::size_t>(header().ranks);
  }
  std::size_t busy_offset() const {
    return inlines_offset() + 2 * sizeof(ShmInline) * static_cast<std::size_t>(header().ranks);
  }
  std::size_t taken_offset() const {
    return busy_offset() + sizeof(ShmBusy) * static_cast<std::size_t>(header().ranks);
  }
  std::size_t slots_offset() const {
    const auto n = static_cast<std::size_t>(header().ranks);
    return taken_offset() + sizeof(ShmCounter) * n * n;
  }
  std::size_t payloads_offset() const {
    const auto n = static_cast<std::size_t>(header().ranks);
    return slots_offset() + sizeof(ShmSlot) * n * n * shm_slots;
  }
  std::byte* world_;
};

/// Waits spin briefly, then yield, then sleep, so that more ranks than cores is an ordinary case.
/// Spinning is worth a microsecond or more only while every rank has a core of its own.
class ShmWaiter {
 public:
  ShmWaiter(const ShmView& view, Rank rank);

  /// Returns once ready() is true, which depends on `peer`. Throws TransportError if the world
  /// ends. On timeout it ends the world for all ranks; the reason is `missing()` and, if `peer` is
  /// itself waiting for a rank, that rank.
  template <class Ready, class Missing>
  void wait_until(Rank peer, Ready ready, Missing missing) {
    for (int i = 0; i < spins_; ++i) {
      if (ready()) return;
      pause();
    }
    // On a busy machine one yield may take as long as all other threads' turns. Looking at the
    // clock every time would make small messages of 8 ranks on 2 cores 3 % slower.
    const double begin = seconds_now();
    for (int i = 0; i < yields_; ++i) {
      if (ready()) return;
      if (i % 8 == 7 && seconds_now() > begin + most_yielding_seconds) break;
      throw_if_aborted();
      yield();
    }
    const double deadline = begin + timeout_seconds_;
    announce_wait(peer);
    while (!ready()) {
      throw_if_aborted();
      if (seconds_now() > deadline) give_up(peer, missing());
      sleep_until_notified(ready);
    }
    announce_wait(-1);
  }

  /// Wakes every sleeper. Call after a store that they may wait for.
  ///
  /// Dekker's pattern: this thread stores, then loads `sleepers`; a sleeper increments `sleepers`,
  /// then checks ready() once more. With a full fence between the two on both sides, at least one
  /// of them sees the other's store, so no wake-up is lost. notify() runs for every message and
  /// sleeping is rare, so the sleeper pays for both fences: membarrier(2) in enlist() executes one
  /// in every running thread, and here it is enough to keep the compiler from reordering.
  void notify() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t sleepers = own_fence_ ? header_.sleepers.fetch_add(0)
                                              : header_.sleepers.load(std::memory_order_relaxed);
    if (sleepers != 0) wake();
  }
  void throw_if_aborted() {
    if (header_.aborted.load() != 0) leave();
  }
  /// Ends the world, unless it has ended, and waits until no other rank is in a visit. After that
  /// no rank accesses this rank's memory. Returns the reason of the first end.
  std::string end_world(const std::string& reason);
  double timeout_seconds() const { return timeout_seconds_; }

  /// Accesses to other ranks' memory happen between the two: until end_visit() no rank leaves the
  /// world, after which its caller might release that memory. Throws TransportError if a rank has
  /// left. Store and load are ordered as in notify(), by the fence of the leaving rank.
  void begin_visit() {
    if (own_fence_) {
      visits_.store(1);
    } else {
      visits_.store(1, std::memory_order_relaxed);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (header_.left.load() != 0) leave();
  }
  void end_visit() { visits_.store(0, std::memory_order_release); }

 private:
  // Long beside a futex's sleep and wake-up, short beside the second in which a run must end.
  static constexpr double most_yielding_seconds = 0.01;

  template <class Ready>
  void sleep_until_notified(Ready ready) {
    const std::uint32_t epoch = enlist();
    if (!ready()) sleep(epoch);
    header_.sleepers.fetch_sub(1);
  }
  static void pause();
  static void yield();
  static double seconds_now();
  std::uint32_t enlist();
  void sleep(std::uint32_t epoch);
  void wake();
  void announce_wait(Rank peer);
  void await_visitors();
  [[noreturn]] void leave();
  [[noreturn]] void give_up(Rank peer, std::string reason);

  std::byte* world_;
  ShmLines lines_;
  ShmHeader& header_;
  std::atomic<std::uint32_t>& visits_;
  Rank rank_;
  double timeout_seconds_;
  int spins_;
  int yields_;
  bool threads_;    // the ranks are threads of one process
  bool own_fence_;  // no membarrier(2): this rank must fence by itself
};

/// A visit to the memory of other ranks, for as long as it lives.
class ShmVisit {
 public:
  explicit ShmVisit(ShmWaiter& waiter) : waiter_(waiter) { waiter_.begin_visit(); }
  ~ShmVisit() { waiter_.end_visit(); }
  ShmVisit(const ShmVisit&) = delete;
  ShmVisit& operator=(const ShmVisit&) = delete;

 private:
  ShmWaiter& waiter_;
};

}  // namespace collbench

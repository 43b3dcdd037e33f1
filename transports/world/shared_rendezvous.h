// A rendezvous in memory that all ranks share: threads of one process, or processes of one machine.
//
// The control block is plain memory of atomics (no pointers), so it may lie in a memfd mapped at
// different addresses. Waiting spins, then yields, then sleeps on a futex, so that it costs a
// fraction of a microsecond where every rank has a core and does not burn time slices where not. An
// abort flag with the first failure's rank and message ends all waiting.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "transports/world/rendezvous.h"

namespace collbench {

/// What class of error an aborting rank met.
enum class FaultKind : std::uint32_t { transport, unavailable, invalid_argument, other };

struct Fault {
  FaultKind kind = FaultKind::other;
  Rank rank = -1;
  std::string what;
};

/// Throws the exception class of `fault.kind` with `fault.what`.
[[noreturn]] void raise(const Fault& fault);
/// The fault that describes the exception being handled; call it in a catch clause.
Fault current_fault(Rank rank);
/// Whether the rank refused the work, as unavailable or as an invalid argument. Where all do,
/// nothing was begun, and they can go on.
bool is_refusal(const Fault& fault);
/// That of work cut off because of a stop signal.
Fault stopped_fault();

/// Head of the shared memory; one RankSlot per rank follows it.
struct ControlBlock {
  alignas(64) std::atomic<std::uint32_t> generation;  // barriers completed; also the futex word
  alignas(64) std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint32_t> sleepers;
  alignas(64) std::atomic<std::uint32_t> abort_state;  // 0 none, 1 being written, 2 written
  FaultKind abort_kind;
  std::int32_t abort_rank;
  std::int32_t ranks;
  std::int32_t cores;  // that the ranks may use; a pinned rank cannot ask
  char abort_what[1024];
};

struct RankSlot {
  static constexpr std::size_t capacity = 512;
  alignas(64) std::atomic<std::uint64_t> progress;
  std::atomic<std::uint32_t> barriers;  // barriers this rank has come to
  alignas(64) std::int64_t numbers[capacity];
};

/// A view of the control block. Thread safety: every member may be called from any thread or
/// process.
class Control {
 public:
  static Bytes bytes(int ranks);
  /// Makes an empty block in zeroed or used memory, aligned to 64 bytes. Requires that it is not in
  /// use.
  static Control create(std::byte* memory, int ranks);
  /// A view of a block made before.
  static Control attach(std::byte* memory);

  int ranks() const { return head_->ranks; }
  ControlBlock& head() const { return *head_; }
  RankSlot& slot(Rank rank) const;
  /// Sets the abort flag and wakes all ranks; only the first fault is kept.
  void abort(const Fault& fault) const;
  std::optional<Fault> fault() const;
  /// "rank 3" or "ranks 1 and 3": those that have come to fewer barriers than the others.
  std::string missing_ranks() const;

 private:
  explicit Control(std::byte* memory);
  ControlBlock* head_;
  RankSlot* slots_;
};

class SharedRendezvous final : public Rendezvous {
 public:
  /// A rank that does not come within `timeout` is lost.
  SharedRendezvous(Control control, Rank rank, Seconds timeout);

  Rank rank() const override { return rank_; }
  int ranks() const override { return control_.ranks(); }
  void barrier() override;
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine) override;
  void note_progress() override;
  bool one_clock() const override { return true; }

 private:
  void wait_for(std::uint32_t generation);
  bool passed(std::uint32_t generation) const;

  Control control_;
  Rank rank_;
  Seconds timeout_;
  int spins_;
};

/// "rank 3", "ranks 1 and 3", "ranks 0, 1 and 3".
std::string name_ranks(std::span<const Rank> ranks);

}  // namespace collbench

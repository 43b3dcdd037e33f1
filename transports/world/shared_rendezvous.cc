#include "transports/world/shared_rendezvous.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include <sched.h>

#include "core/error.h"
#include "core/stop_request.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace

void raise(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::transport:
      throw TransportError(fault.what);
    case FaultKind::unavailable:
      throw Unavailable(fault.what);
    case FaultKind::invalid_argument:
      throw InvalidArgument(fault.what);
    case FaultKind::other:
      break;
  }
  throw Error(fault.what);
}

Fault current_fault(Rank rank) {
  try {
    throw;
  } catch (const TransportError& error) {
    return {FaultKind::transport, rank, error.what()};
  } catch (const Unavailable& error) {
    return {FaultKind::unavailable, rank, error.what()};
  } catch (const InvalidArgument& error) {
    return {FaultKind::invalid_argument, rank, error.what()};
  } catch (const std::exception& error) {
    return {FaultKind::other, rank, "rank " + std::to_string(rank) + ": " + error.what()};
  }
}

bool is_refusal(const Fault& fault) {
  return fault.kind == FaultKind::unavailable || fault.kind == FaultKind::invalid_argument;
}

Fault stopped_fault() { return {FaultKind::transport, 0, "stopped by " + stop_signal_name()}; }

std::string name_ranks(std::span<const Rank> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

Control::Control(std::byte* memory)
    : head_(reinterpret_cast<ControlBlock*>(memory)),
      slots_(reinterpret_cast<RankSlot*>(memory + sizeof(ControlBlock))) {
  assert(reinterpret_cast<std::uintptr_t>(memory) % alignof(ControlBlock) == 0);
}

Bytes Control::bytes(int ranks) {
  return {static_cast<std::int64_t>(sizeof(ControlBlock) +
                                    static_cast<std::size_t>(ranks) * sizeof(RankSlot))};
}

Control Control::create(std::byte* memory, int ranks) {
  Control control(memory);
  new (control.head_) ControlBlock{};
  control.head_->ranks = ranks;
  control.head_->cores = usable_cores();
  for (Rank rank = 0; rank < ranks; ++rank) new (control.slots_ + rank) RankSlot{};
  return control;
}

Control Control::attach(std::byte* memory) { return Control(memory); }

RankSlot& Control::slot(Rank rank) const {
  assert(rank >= 0 && rank < ranks());
  return slots_[rank];
}

void Control::abort(const Fault& fault) const {
  std::uint32_t none = 0;
  if (!head_->abort_state.compare_exchange_strong(none, 1)) return;
  head_->abort_kind = fault.kind;
  head_->abort_rank = fault.rank;
  const std::size_t length = fault.what.copy(head_->abort_what, sizeof head_->abort_what - 1);
  head_->abort_what[length] = '\0';
  head_->abort_state.store(2, std::memory_order_release);
  futex_wake_all(head_->generation);
}

std::optional<Fault> Control::fault() const {
  if (head_->abort_state.load(std::memory_order_acquire) != 2) return std::nullopt;
  return Fault{head_->abort_kind, head_->abort_rank, head_->abort_what};
}

std::string Control::missing_ranks() const {
  std::uint32_t most = 0;
  for (Rank rank = 0; rank < ranks(); ++rank) most = std::max(most, slot(rank).barriers.load());
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    if (slot(rank).barriers.load() < most) missing.push_back(rank);
  }
  return missing.empty() ? "no rank" : name_ranks(missing);
}

SharedRendezvous::SharedRendezvous(Control control, Rank rank, Seconds timeout)
    : control_(control),
      rank_(rank),
      timeout_(timeout),
      spins_(control.ranks() <= control.head().cores ? 4000 : 60) {}

void SharedRendezvous::note_progress() {
  auto& progress = control_.slot(rank_).progress;
  progress.store(progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void SharedRendezvous::barrier() {
  ControlBlock& head = control_.head();
  const std::uint32_t generation = head.generation.load(std::memory_order_acquire);
  control_.slot(rank_).barriers.fetch_add(1, std::memory_order_relaxed);
  note_progress();
  const auto ranks = static_cast<std::uint32_t>(control_.ranks());
  if (head.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks) {
    wait_for(generation);
    return;
  }
  head.arrived.store(0, std::memory_order_relaxed);
  head.generation.fetch_add(1);
  if (head.sleepers.load() > 0) futex_wake_all(head.generation);
}

bool SharedRendezvous::passed(std::uint32_t generation) const {
  if (control_.head().generation.load(std::memory_order_acquire) != generation) return true;
  if (const auto fault = control_.fault()) raise(*fault);
  return false;
}

void SharedRendezvous::wait_for(std::uint32_t generation) {
  for (int i = 0; i < spins_; ++i) {
    if (passed(generation)) return;
    pause_processor();
  }
  for (int i = 0; i < 100; ++i) {
    if (passed(generation)) return;
    sched_yield();
  }
  ControlBlock& head = control_.head();
  const auto deadline = Clock::now() + timeout_;
  while (!passed(generation)) {
    if (Clock::now() >= deadline) {
      const Fault late{FaultKind::transport, rank_,
                       control_.missing_ranks() + " did not come within " + to_string(timeout_)};
      control_.abort(late);
      raise(late);
    }
    head.sleepers.fetch_add(1);
    futex_sleep(head.generation, generation, std::chrono::milliseconds(100));
    head.sleepers.fetch_sub(1);
  }
}

std::vector<std::int64_t> SharedRendezvous::gather(std::span<const std::int64_t> mine) {
  const auto n = static_cast<std::size_t>(ranks());
  std::vector<std::int64_t> all(mine.size() * n);
  for (std::size_t first = 0; first < mine.size(); first += RankSlot::capacity) {
    const auto part = mine.subspan(first, std::min(RankSlot::capacity, mine.size() - first));
    std::copy(part.begin(), part.end(), control_.slot(rank_).numbers);
    barrier();
    for (std::size_t r = 0; r < n; ++r) {
      const std::int64_t* numbers = control_.slot(static_cast<Rank>(r)).numbers;
      std::copy_n(numbers, part.size(), all.begin() + static_cast<long>(r * mine.size() + first));
    }
    barrier();  // no rank overwrites what another still reads
  }
  return all;
}

}  // namespace collbench

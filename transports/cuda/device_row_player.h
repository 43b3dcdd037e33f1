// The interpreter of rows: what every thread of the persistent kernel does.
//
// One block of threads plays one lane of one rank's row. The same code runs in tests on a CPU,
// with a thread per block, so that tables, flags and their memory order are tested without a
// device. It consists of constexpr functions over a `Machine`, which provides:
//   thread(), threads()      the place in the block and its size
//   any(bool)                whether it is true in any thread of the block; a block barrier
//   reached(flag, number)    whether the flag holds at least the number
//   acquire()                after the block's next barrier it sees what was published before the
//                            numbers that this thread has reached
//   publish(flag, number)    stores it: releases what the block did before its last barrier
//   addresses(slot)          memory of the block for device_near_operands addresses; two slots
//   patient()                called while waiting; false when waiting is over for good
// A group of 16 bytes is always done by the same thread of a lane, so that steps of one rank follow
// each other without a barrier; a barrier stands where the block waits or publishes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transports/cuda/device_fold.h"
#include "transports/cuda/device_rows.h"

namespace collbench {

/// Words between two flags: each has a cache line of its own.
constexpr std::int64_t device_flag_stride = 16;

/// Rows with the memory they are played on. All pointers are the device's.
struct DeviceRowTable {
  const std::int32_t* first_step = nullptr;
  const DeviceRowStep* steps = nullptr;
  const std::int32_t* operands = nullptr;
  const DeviceWait* waits = nullptr;
  std::byte* const* bases = nullptr;  // of all memories: rank * device_places + place
  /// Flags of rank * flag_lanes + lane, in as many copies as there are devices: one is polled at
  /// home, all are written.
  std::uint64_t* const* flags = nullptr;
  int flag_copies = 1;
  int home = 0;        // the copy to poll
  int flag_lanes = 1;  // the most lanes of any table on these flags
  int lanes = 1;
  std::int64_t stripe = 0;    // elements
  std::uint64_t started = 0;  // numbers of this replay count from here
  bool aligned = true;        // all memories begin at a multiple of 16 bytes
};

/// Operands of a step whose addresses a block has at hand.
constexpr int device_near_operands = 64;

/// The arrays of one step, as play_range() wants them.
struct DeviceStepArrays {
  const DeviceRowTable& table;
  const DeviceRowStep& step;
  std::byte* const* near;  // addresses of all operands, if there are not too many
  constexpr int sources() const { return step.sources; }
  constexpr int destinations() const { return step.destinations; }
  constexpr int divisor() const { return step.divisor; }
  constexpr bool aligned() const { return table.aligned; }
  constexpr const std::byte* source(int s) const { return address(s); }
  constexpr std::byte* destination(int d) const { return address(step.sources + d); }

 private:
  constexpr std::byte* address(int operand) const {
    if (step.sources + step.destinations <= device_near_operands) return near[operand];
    return table.bases[table.operands[step.first_operand + operand]];
  }
};

/// The stripes of `lane` within a step.
template <class Element, class Op, class Machine>
constexpr void play_stripes(const DeviceStepArrays& arrays, int lane, Machine& machine) {
  const std::int64_t first = arrays.step.first;
  const std::int64_t last = first + arrays.step.count;
  const std::int64_t stripe = arrays.table.stripe;
  const int lanes = arrays.table.lanes;
  const std::int64_t begin = first / stripe;
  std::int64_t s = begin + (lane - begin % lanes + lanes) % lanes;
  for (; s * stripe < last; s += lanes) {
    const std::int64_t from = s * stripe > first ? s * stripe : first;
    const std::int64_t to = (s + 1) * stripe < last ? (s + 1) * stripe : last;
    play_range<Element, Op>(arrays, from, to, machine.thread(), machine.threads());
  }
}

/// A row as one lane plays it. What does not depend on other ranks, the tables, is read while
/// waiting for them: after a wait nothing is left in the caches of the block.
template <class Machine>
class DeviceLane {
 public:
  constexpr DeviceLane(const DeviceRowTable& table, Rank rank, int lane, Machine& machine)
      : table_(table),
        machine_(machine),
        lane_(lane),
        own_flag_((std::int64_t{rank} * table.flag_lanes + lane) * device_flag_stride),
        home_(table.flags[table.home]),
        next_(table.first_step[rank]),
        end_(table.first_step[rank + 1]) {
    read_ahead();
  }

  /// False: a wait was given up.
  template <class Element, class Op>
  constexpr bool play() {
    for (int slot = 0; next_ < end_; slot = 1 - slot) {
      const DeviceRowStep step = ahead_;
      const DeviceWait wait = first_wait_;
      ++next_;
      read_ahead();
      std::byte** const near = machine_.addresses(slot);
      gather(step, near);
      if (machine_.any(late(step, wait))) return false;
      if (step.count > 0) play_stripes<Element, Op>({table_, step, near}, lane_, machine_);
      if (step.publishes > 0) publish(step.publishes);
    }
    return true;
  }

 private:
  // The next step and this thread's first wait of it.
  constexpr void read_ahead() {
    if (next_ == end_) return;
    ahead_ = table_.steps[next_];
    if (machine_.thread() < ahead_.waits) {
      first_wait_ = table_.waits[ahead_.first_wait + machine_.thread()];
    }
  }

  // By the last threads of the block, for the first are waiting. Slots alternate: a thread may
  // still be playing the step before, but not the one before that.
  constexpr void gather(const DeviceRowStep& step, std::byte** near) {
    const int operands = step.sources + step.destinations;
    if (step.count == 0 || operands > device_near_operands) return;
    for (int o = machine_.threads() - 1 - machine_.thread(); o < operands;
         o += machine_.threads()) {
      near[o] = table_.bases[table_.operands[step.first_operand + o]];
    }
  }

  // Waits for the step's dependences, of which the threads of the block have one after the other.
  constexpr bool late(const DeviceRowStep& step, DeviceWait wait) {
    for (int w = machine_.thread(); w < step.waits; w += machine_.threads()) {
      if (w >= machine_.threads()) wait = table_.waits[step.first_wait + w];
      const std::int64_t flag = std::int64_t{wait.rank} * table_.flag_lanes + lane_;
      const std::uint64_t number = table_.started + static_cast<std::uint64_t>(wait.number);
      while (!machine_.reached(home_ + flag * device_flag_stride, number)) {
        if (!machine_.patient()) return true;
      }
    }
    if (machine_.thread() < step.waits) machine_.acquire();
    return false;
  }

  constexpr void publish(std::int32_t number) {
    machine_.any(false);
    for (int c = machine_.thread(); c < table_.flag_copies; c += machine_.threads()) {
      machine_.publish(table_.flags[c] + own_flag_,
                       table_.started + static_cast<std::uint64_t>(number));
    }
  }

  const DeviceRowTable& table_;
  Machine& machine_;
  int lane_;
  std::int64_t own_flag_;
  const std::uint64_t* home_;
  std::int32_t next_;
  std::int32_t end_;
  DeviceRowStep ahead_{};
  DeviceWait first_wait_{};
};

/// Plays one lane of a rank's row; every thread of its block calls it. False: a wait was given up.
template <class Element, class Op, class Machine>
constexpr bool play_row(const DeviceRowTable& table, Rank rank, int lane, Machine& machine) {
  return DeviceLane<Machine>(table, rank, lane, machine).template play<Element, Op>();
}

}  // namespace collbench

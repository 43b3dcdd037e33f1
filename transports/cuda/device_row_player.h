// The interpreter of rows: what every thread of the persistent kernel does.
//
// One block of threads plays one lane of one rank's row. The same code runs in tests on a CPU,
// with a thread per block, so that tables, flags and their memory order are tested without a
// device. It consists of constexpr functions over a `Machine`, which provides:
//   thread(), threads()      the place in the block and its size
//   any(bool)                whether it is true in any thread of the block; a block barrier
//   reached(flag, number)    whether the flag holds at least the number: acquires
//   publish(flag, number)    stores it: releases what the block did before its last barrier
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

/// The addresses of one step, as fold_groups() wants them.
struct DeviceStepArrays {
  const DeviceRowTable& table;
  const DeviceRowStep& step;
  constexpr int sources() const { return step.sources; }
  constexpr int destinations() const { return step.destinations; }
  constexpr const std::byte* source(int s) const {
    return table.bases[table.operands[step.first_operand + s]];
  }
  constexpr std::byte* destination(int d) const {
    return table.bases[table.operands[step.first_operand + step.sources + d]];
  }
};

/// The groups from `first` on, `batch` of them a `stride` of elements apart.
template <class Element, class Op, int lanes, int batch>
constexpr void play_groups(const DeviceStepArrays& arrays, std::int64_t first,
                           std::int64_t stride) {
  const int divisor = arrays.step.divisor;
  if (arrays.step.sources == 1 && divisor == 1) {
    copy_groups<typename Element::Stored, lanes, batch>(arrays, first, stride);
  } else {
    fold_groups<Element, Op, lanes, batch>(arrays, first, stride, Element::divisor(divisor),
                                           divisor != 1);
  }
}

/// This thread's groups of elements [first, last) of a step.
template <class Element, class Op>
constexpr void play_range(const DeviceStepArrays& arrays, std::int64_t first, std::int64_t last,
                          int thread, int threads) {
  constexpr int lanes = device_group_bytes / sizeof(typename Element::Stored);
  // As many groups in flight as registers hold folded.
  constexpr int batch = sizeof(typename Element::Stored) >= 4   ? 4
                        : sizeof(typename Element::Stored) == 2 ? 2
                                                                : 1;
  const std::int64_t begin = first / lanes;
  const std::int64_t end = (last + lanes - 1) / lanes;
  const std::int64_t stride = std::int64_t{threads} * lanes;
  const bool aligned = arrays.table.aligned;
  std::int64_t group = begin + (thread - begin % threads + threads) % threads;
  while (group < end) {
    const std::int64_t at = group * lanes;
    if (aligned && at >= first && at + (batch - 1) * stride + lanes <= last) {
      play_groups<Element, Op, lanes, batch>(arrays, at, stride);
      group += std::int64_t{batch} * threads;
      continue;
    }
    if (aligned && at >= first && at + lanes <= last) {
      play_groups<Element, Op, lanes, 1>(arrays, at, stride);
    } else {
      for (std::int64_t i = at; i < at + lanes; ++i) {
        if (i >= first && i < last) play_groups<Element, Op, 1, 1>(arrays, i, 1);
      }
    }
    group += threads;
  }
}

/// The stripes of `lane` within a step.
template <class Element, class Op>
constexpr void play_stripes(const DeviceStepArrays& arrays, int lane, int thread, int threads) {
  const std::int64_t first = arrays.step.first;
  const std::int64_t last = first + arrays.step.count;
  const std::int64_t stripe = arrays.table.stripe;
  const int lanes = arrays.table.lanes;
  const std::int64_t begin = first / stripe;
  std::int64_t s = begin + (lane - begin % lanes + lanes) % lanes;
  for (; s * stripe < last; s += lanes) {
    const std::int64_t from = s * stripe > first ? s * stripe : first;
    const std::int64_t to = (s + 1) * stripe < last ? (s + 1) * stripe : last;
    play_range<Element, Op>(arrays, from, to, thread, threads);
  }
}

/// Waits for the step's dependences; the threads of the block share the flags. False: gave up.
template <class Machine>
constexpr bool await(const DeviceRowTable& table, const DeviceRowStep& step, int lane,
                     Machine& machine) {
  bool late = false;
  for (int w = machine.thread(); w < step.waits && !late; w += machine.threads()) {
    const DeviceWait wait = table.waits[step.first_wait + w];
    const std::int64_t flag = std::int64_t{wait.rank} * table.flag_lanes + lane;
    const std::uint64_t number = table.started + static_cast<std::uint64_t>(wait.number);
    while (!late && !machine.reached(table.flags[table.home] + flag * device_flag_stride, number)) {
      late = !machine.patient();
    }
  }
  return !machine.any(late);
}

/// Plays one lane of a rank's row; every thread of its block calls it. False: a wait was given up.
template <class Element, class Op, class Machine>
constexpr bool play_row(const DeviceRowTable& table, Rank rank, int lane, Machine& machine) {
  const std::int64_t flag = (std::int64_t{rank} * table.flag_lanes + lane) * device_flag_stride;
  for (std::int32_t i = table.first_step[rank]; i < table.first_step[rank + 1]; ++i) {
    const DeviceRowStep& step = table.steps[i];
    if (step.waits > 0 && !await(table, step, lane, machine)) return false;
    if (step.count > 0) {
      play_stripes<Element, Op>({table, step}, lane, machine.thread(), machine.threads());
    }
    if (step.publishes == 0) continue;
    machine.any(false);
    for (int c = machine.thread(); c < table.flag_copies; c += machine.threads()) {
      machine.publish(table.flags[c] + flag,
                      table.started + static_cast<std::uint64_t>(step.publishes));
    }
  }
  return true;
}

}  // namespace collbench

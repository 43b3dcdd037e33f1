// Which vectors of a replica the ranks divide among themselves, instead of each keeping all.
//
//   none       parameters, gradients and the optimizer's memory are whole on every rank
//   optimizer  a rank keeps the optimizer's memory of its share alone: gradients are
//              reduce-scattered, each rank updates its share of the parameters, and these are
//              all-gathered (ZeRO stage 1)
//   full       a rank keeps its share of all three: parameters are all-gathered before the forward
//              pass uses them and again before the backward pass, and given up after each use
//              (ZeRO stage 3, FSDP)
//
// The unit is a bucket; the share of a rank is that of a reduce-scatter (algorithms/collective.h).
// Sources: Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models"; Zhao et al. 2023, "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "core/units.h"
#include "training/bucket_plan.h"

namespace collbench {

enum class StateSharding : std::uint8_t { none, optimizer, full };
std::string_view to_string(StateSharding sharding);
/// Throws InvalidArgument with a suggestion for an unknown name.
StateSharding parse_state_sharding(const std::string& name);

/// What the vectors of one rank take while it trains; the values between layers are not counted.
struct TrainingMemory {
  Bytes parameters;  // that it keeps between steps, as the two below
  Bytes gradients;
  Bytes optimizer;
  Bytes buffers;  // gathered parameters, gradients not yet summed, the copy for the wire
  Bytes all() const { return parameters + gradients + optimizer + buffers; }
};

/// What decides it.
struct MemoryQuestion {
  StateSharding sharding = StateSharding::none;
  std::span<const Tensor> tensors;
  std::span<const Bucket> buckets;
  Rank rank = 0;
  int ranks = 1;
  int element_bytes = 4;
  int wire_bytes = 4;  // of an element on the wire, where it is narrower
  int slots = 0;       // vectors that the optimizer remembers
  bool overlap = true;
  int accumulate = 1;  // micro-batches of a step, of which the last one sums
};
/// By the sizes of vectors and shares, and the most that is gathered and not yet summed at once.
/// Between micro-batches no rank knows its share of the sums, so each keeps whole gradients, as
/// FSDP does with no_sync().
TrainingMemory expected_memory(const MemoryQuestion& question);

/// The elements of a bucket that `rank` sums and updates.
Elements share_of(const Bucket& bucket, Rank rank, int ranks);
/// The elements of each layer that has parameters, in flat order: the last layer first.
std::vector<Elements> layer_ranges(std::span<const Tensor> tensors);

}  // namespace collbench

#include "training/state_sharding.h"

#include <algorithm>
#include <array>

#include "core/suggest.h"
#include "training/held_pages.h"
#include "training/parameter_window.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 3> names_of_shardings{"none", "optimizer", "full"};

/// The most elements of parameters that are gathered at once.
std::int64_t most_gathered(const MemoryQuestion& question, const std::vector<Elements>& layers) {
  const std::span<const Bucket> buckets = question.buckets;
  std::int64_t held = 0;
  std::int64_t most = 0;
  const auto gather = [&](std::size_t bucket) {
    most = std::max(most, held += buckets[bucket].count);
  };
  const auto release = [&](std::size_t bucket) { held -= buckets[bucket].count; };
  ParameterWindow window({buckets.begin(), buckets.end()}, question.overlap,
                         {gather, [](std::size_t) {}, release});
  window.begin(StepPass::forward);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    window.need(layer->first, layer->first + layer->count);
  }
  window.begin(StepPass::backward);
  for (const Elements& layer : layers) window.need(layer.first, layer.first + layer.count);
  return most;
}

/// The most elements of gradients that are not summed at once: the buckets of a layer and of the
/// one before it, because the parameters of a layer arrive behind the sums of all earlier ones.
std::int64_t most_unsummed(const MemoryQuestion& question, const std::vector<Elements>& layers) {
  const auto elements = [&](const Elements& from, const Elements& to) {
    std::int64_t count = 0;
    for (const Bucket& bucket : question.buckets) {
      const bool touched =
          bucket.first < to.first + to.count && from.first < bucket.first + bucket.count;
      if (touched) count += bucket.count;
    }
    return count;
  };
  if (!question.overlap) return elements(layers.front(), layers.back());
  std::int64_t most = elements(layers.front(), layers.front());
  for (std::size_t i = 1; i < layers.size(); ++i) {
    most = std::max(most, elements(layers[i - 1], layers[i]));
  }
  return most;
}

}  // namespace

std::string_view to_string(StateSharding sharding) {
  return names_of_shardings[static_cast<std::size_t>(sharding)];
}

StateSharding parse_state_sharding(const std::string& name) {
  return static_cast<StateSharding>(
      require_known("sharding", name, {names_of_shardings.begin(), names_of_shardings.end()}));
}

Elements share_of(const Bucket& bucket, Rank rank, int ranks) {
  const Elements share =
      elements_after({CollectiveKind::reduce_scatter}, rank, ranks, bucket.count);
  return {bucket.first + share.first, share.count};
}

std::vector<Elements> layer_ranges(std::span<const Tensor> tensors) {
  std::vector<Elements> ranges;
  int layer = -1;
  for (const Tensor& tensor : tensors) {
    if (ranges.empty() || tensor.layer != layer) ranges.push_back({tensor.first, 0});
    ranges.back().count += tensor.count;
    layer = tensor.layer;
  }
  return ranges;
}

TrainingMemory expected_memory(const MemoryQuestion& question) {
  const Bytes element{question.element_bytes};
  std::int64_t all = 0;
  std::int64_t share = 0;
  std::int64_t largest = 0;
  for (const Bucket& bucket : question.buckets) {
    all += bucket.count;
    share += share_of(bucket, question.rank, question.ranks).count;
    largest = std::max(largest, bucket.count);
  }
  const bool full = question.sharding == StateSharding::full;
  const bool divided = question.sharding != StateSharding::none;
  TrainingMemory memory;
  memory.parameters = element * (full ? share : all);
  const bool keeps_whole = question.accumulate > 1;
  memory.gradients = element * (full && !keeps_whole ? share : all);
  memory.optimizer = element * question.slots * (divided ? share : all);
  if (question.wire_bytes < question.element_bytes) {
    memory.buffers = Bytes{question.wire_bytes} * largest;
  }
  if (full) {
    const std::vector<Elements> layers = layer_ranges(question.tensors);
    // Both ends lie in units that are given back later.
    const auto in_units = [&](std::int64_t count) {
      return std::min(element * count + Bytes{2 * HeldPages::unit}, element * all);
    };
    memory.buffers = memory.buffers + in_units(most_gathered(question, layers));
    if (!keeps_whole) {
      memory.buffers = memory.buffers + in_units(most_unsummed(question, layers));
    }
  }
  return memory;
}

}  // namespace collbench

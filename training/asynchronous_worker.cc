#include "training/asynchronous_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "training/engine.h"
#include "training/input_pipeline.h"

namespace collbench {
namespace {

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

template <class T>
void subtract(Region after, Region before, std::byte* into) {
  const auto* a = reinterpret_cast<const T*>(after.data);
  const auto* b = reinterpret_cast<const T*>(before.data);
  std::transform(a, a + after.count, b, reinterpret_cast<T*>(into), std::minus<>());
}

/// What the moving statistics of one step have moved by.
class Moves {
 public:
  explicit Moves(Region statistics)
      : statistics_(statistics), memory_(static_cast<std::size_t>(statistics.size().count)) {}
  void begin() { std::copy_n(statistics_.data, memory_.size(), memory_.begin()); }
  Region end() {
    const Region moves{memory_.data(), statistics_.count, statistics_.type};
    if (statistics_.type == DataType::f64) {
      subtract<double>(statistics_, moves, moves.data);
    } else {
      subtract<float>(statistics_, moves, moves.data);
    }
    return moves;
  }

 private:
  Region statistics_;
  std::vector<std::byte> memory_;
};

}  // namespace

std::vector<VariableShard> place_variables(std::span<const Tensor> tensors, int element_bytes,
                                           int servers, Bytes least) {
  std::vector<VariableShard> shards;
  int next = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const std::int64_t fitting = tensor.count * element_bytes / least.count;
    const std::int64_t parts = std::clamp<std::int64_t>(fitting, 1, servers);
    std::int64_t first = tensor.first;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t count = tensor.count / parts + (part < tensor.count % parts ? 1 : 0);
      shards.push_back({static_cast<int>(i), next, first, count});
      first += count;
      next = (next + 1) % servers;
    }
  }
  return shards;
}

Placement::Placement(std::span<const Tensor> tensors, int element_bytes, int servers)
    : shards_(static_cast<std::size_t>(servers)) {
  for (const VariableShard& shard : place_variables(tensors, element_bytes, servers)) {
    shards_[static_cast<std::size_t>(shard.server)].push_back(shard);
  }
}

std::int64_t Placement::elements(int server) const {
  std::int64_t sum = 0;
  for (const VariableShard& shard : shards(server)) sum += shard.count;
  return sum;
}

void Placement::pack(Region flat, int server, std::span<std::byte> packed) const {
  std::byte* to = packed.data();
  for (const VariableShard& shard : shards(server)) {
    const Region part = flat.part(shard.first, shard.count);
    to = std::copy_n(part.data, part.size().count, to);
  }
}

void Placement::unpack(std::span<const std::byte> packed, int server, Region flat) const {
  const std::byte* from = packed.data();
  for (const VariableShard& shard : shards(server)) {
    const Region part = flat.part(shard.first, shard.count);
    std::copy_n(from, part.size().count, part.data);
    from += part.size().count;
  }
}

void work_asynchronously(const TrainingPlan& plan, const Dataset& data, SharedVariables& variables,
                         const NextClosure& next) {
  InputPipeline input(data, input_of(plan), 1, 0);
  const auto network =
      find_engine(plan.engine, plan.type).make_network(plan.model, input.largest(), plan.type);
  std::vector<float> images;
  std::vector<int> labels;
  Moves moves(network->statistics());
  ClosureResult result;
  for (std::optional<std::int64_t> step = next(nullptr); step; step = next(&result)) {
    const Seconds begin = now();
    Seconds last = begin;
    const auto lap = [&] {
      const Seconds before = std::exchange(last, now());
      return last - before;
    };
    result = {};
    result.step = *step;
    const StepSize size = input.read(*step, images, labels);
    result.samples = size.all;
    result.times.input = lap();
    variables.read(network->parameters(), network->statistics());
    moves.begin();
    const Seconds reading = lap();
    result.score = network->forward({images, labels});
    result.times.forward = lap();
    network->backward(1.0 / static_cast<double>(size.all), [](std::int64_t) {});
    result.times.backward = lap();
    result.staleness = variables.update(network->gradients(), moves.end());
    result.times.communication = reading + lap();  // with the optimizer, on the servers
    result.times.exposed = result.times.communication;
    result.times.whole = last - begin;
  }
}

}  // namespace collbench

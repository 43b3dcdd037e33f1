#include "training/asynchronous/asynchronous_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "training/asynchronous/batch_replicas.h"
#include "training/asynchronous/steady_time.h"

namespace collbench {
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
  BatchReplicas replicas(plan, data);
  ClosureResult result;
  for (std::optional<std::int64_t> step = next(nullptr); step; step = next(&result)) {
    const Seconds begin = steady_now();
    Seconds last = begin;
    const auto lap = [&] {
      const Seconds before = std::exchange(last, steady_now());
      return last - before;
    };
    result = {};
    result.step = *step;
    result.samples = replicas.read(*step);
    result.times.input = lap();
    variables.read(replicas.parameters(), replicas.statistics());
    const Seconds reading = lap();
    result.score = replicas.compute(result.times);
    lap();
    result.staleness = variables.update(replicas.gradients(), replicas.moves());
    result.times.communication = reading + lap();  // with the optimizer, on the servers
    result.times.exposed = result.times.communication;
    result.times.whole = last - begin;
  }
}

}  // namespace collbench

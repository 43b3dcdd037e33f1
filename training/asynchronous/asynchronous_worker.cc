#include "training/asynchronous/asynchronous_worker.h"

#include <algorithm>

#include "training/asynchronous/batch_replicas.h"
#include "training/steady_time.h"

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

namespace {

/// The servers in place of an all-reduce: they hold the parameters, and apply the gradients.
class ServerSum final : public GradientSum {
 public:
  ServerSum(SharedVariables& variables, BatchReplicas& replicas)
      : variables_(variables), replicas_(replicas) {}
  void fetch() override { variables_.read(replicas_.parameters(), replicas_.statistics()); }
  void start_up_to(std::int64_t /*end*/) override {}
  Spent wait() override {
    const Seconds begin = steady_now();
    staleness_ = variables_.update(replicas_.gradients(), replicas_.moves());
    return {steady_now() - begin};  // with the optimizer, on the servers
  }
  std::int64_t staleness() const { return staleness_; }

 private:
  SharedVariables& variables_;
  BatchReplicas& replicas_;
  std::int64_t staleness_ = 0;
};

}  // namespace

void work_asynchronously(const TrainingPlan& plan, const Dataset& data, SharedVariables& variables,
                         const NextClosure& next) {
  BatchReplicas replicas(plan, data);
  ServerSum servers(variables, replicas);
  ClosureResult result;
  for (std::optional<std::int64_t> step = next(nullptr); step; step = next(&result)) {
    replicas.set_step(*step);
    const StepTimes times = run_step(replicas, servers, 0, false);
    result = {*step, replicas.score(), replicas.samples(), servers.staleness(), times};
  }
}

}  // namespace collbench

#include "training/replay.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "training/bucket_reducer.h"
#include "training/engines/aligned_array.h"
#include "training/sharded_parameters.h"
#include "training/wire_type.h"

namespace collbench {
namespace {

/// A number as it is stored in `type`.
std::vector<std::byte> stored(float value, DataType type) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size_of(type)));
  const Region from{reinterpret_cast<std::byte*>(&value), 1, DataType::f32};
  if (type == DataType::f32) {
    std::copy_n(from.data, sizeof value, bytes.begin());
  } else if (type == DataType::f64) {
    const double wide = value;
    std::copy_n(reinterpret_cast<const std::byte*>(&wide), sizeof wide, bytes.begin());
  } else {
    narrow(from, {bytes.data(), 1, type});
  }
  return bytes;
}

class ReplayRank final : private StepCompute {
 public:
  ReplayRank(const ReplayPlan& plan, Communicator& communicator)
      : plan_(plan),
        communicator_(communicator),
        one_(stored(1, plan.type)),
        sum_(stored(static_cast<float>(communicator.ranks()), plan.type)),
        gradients_(elements_of(plan.tensors) * size_of(plan.type)),
        layers_(plan.compute.layers.size()),
        reducer_(communicator, whole(gradients_), plan.buckets,
                 {.type = plan.wire, .shares = plan.sharding != StateSharding::none}) {
    for (const Tensor& tensor : plan.tensors) {
      Elements& layer = layers_[static_cast<std::size_t>(tensor.layer)];
      if (layer.count == 0) layer.first = tensor.first;
      layer.count += tensor.count;
    }
    if (plan.sharding == StateSharding::none) return;
    parameters_ = AlignedArray<std::byte>(gradients_.size());
    fill(whole(parameters_), one_);
    sharded_.emplace(plan.sharding, ReplicaVectors{whole(parameters_), whole(gradients_), {}},
                     plan.tensors, communicator, reducer_, plan.overlap);
  }

  StepTimes step() {
    if (plan_.sharding != StateSharding::full) fill(whole(gradients_), one_);
    meet();
    GradientSum& sum = sharded_ ? static_cast<GradientSum&>(*sharded_) : reducer_;
    const StepTimes times = run_step(*this, sum, elements_of(plan_.tensors), plan_.overlap);
    if (!sharded_) require_all(whole(gradients_), sum_, "gradients");
    if (plan_.sharding == StateSharding::optimizer) {
      for (const Bucket& bucket : plan_.buckets) {
        const Elements own = share_of(bucket, communicator_.rank(), communicator_.ranks());
        require_all(whole(gradients_).part(own.first, own.count), sum_, "gradients");
      }
      require_all(whole(parameters_), moved_, "parameters");
    }
    if (plan_.sharding == StateSharding::full && !warm_) {  // where an update has no collective
      sharded_->update([this](std::size_t, Region, Region gradients) {
        require_all(gradients, sum_, "gradients");
      });
    }
    warm_ = true;
    return times;
  }

  /// What is done between steps is in none of them, and a rank that has ended is read by no other.
  void meet() {
    reducer_.run([this] { communicator_.barrier(); });
  }

 private:
  Seconds now() const override { return communicator_.now(); }
  void forward() override {
    due_ = std::chrono::steady_clock::now();
    if (plan_.sharding != StateSharding::full) return wait_for(plan_.compute.forward());
    begin(StepPass::forward);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      need(i);
      wait_for(plan_.compute.layers[i].forward);
    }
    sharded_->end();
  }
  void backward(const GradientsReady& ready) override {
    begin(StepPass::backward);
    int last = -1;
    const auto work = [&](int layer, Seconds time) {
      const bool begins = std::exchange(last, layer) != layer;
      if (begins && plan_.sharding == StateSharding::full) write(static_cast<std::size_t>(layer));
      wait_for(time);
    };
    play_backward(plan_.compute, plan_.tensors, work,
                  [&ready](const Tensor& tensor) { ready(tensor.first + tensor.count); });
    if (sharded_) sharded_->end();
  }
  void update() override {
    due_ = std::chrono::steady_clock::now();
    if (!sharded_) return wait_for(plan_.compute.optimizer);
    if (!warm_) moved_ = sum_;
    sharded_->update([this](std::size_t, Region parameters, Region) {
      if (!warm_) fill(parameters, moved_);
    });
    wait_for(plan_.compute.optimizer / communicator_.ranks());
  }

  void begin(StepPass pass) {
    if (sharded_) sharded_->begin(pass);
  }
  /// A layer's gradients are there only while it computes; later steps sum zeros.
  void write(std::size_t layer) {
    need(layer);
    if (warm_) return;
    fill(whole(gradients_).part(layers_[layer].first, layers_[layer].count), one_);
  }
  /// What was gathered is checked where no time is taken: in the step to warm up.
  void need(std::size_t layer) {
    const Elements& range = layers_[layer];
    if (range.count == 0) return;
    sharded_->need(range.first, range.first + range.count);
    if (!warm_) {
      require_all(whole(parameters_).part(range.first, range.count), moved_, "parameters");
    }
    due_ = std::max(due_, std::chrono::steady_clock::now());
  }

  Region whole(AlignedArray<std::byte>& vector) const {
    return {vector.data(), elements_of(plan_.tensors), plan_.type};
  }
  static void fill(Region region, const std::vector<std::byte>& value) {
    for (std::int64_t i = 0; i < region.count; ++i) {
      std::ranges::copy(value, region.data + i * std::ssize(value));
    }
  }

  void wait_for(Seconds work) {
    due_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(work);
    std::this_thread::sleep_until(due_);
  }

  void require_all(Region region, const std::vector<std::byte>& value, const char* what) const {
    for (std::int64_t i = 0; i < region.count; ++i) {
      if (std::equal(value.begin(), value.end(), region.data + i * std::ssize(value))) continue;
      throw WrongResult(fmt::format("rank {}: element {} of {} {} is not {}", communicator_.rank(),
                                    i, region.count, what,
                                    value == one_ ? 1 : communicator_.ranks()));
    }
  }

  const ReplayPlan& plan_;
  Communicator& communicator_;
  std::vector<std::byte> one_;
  std::vector<std::byte> sum_;
  std::vector<std::byte> moved_ = one_;  // what the parameters are
  AlignedArray<std::byte> gradients_;
  AlignedArray<std::byte> parameters_;  // where ranks share; empty otherwise
  std::vector<Elements> layers_;        // where parameters of each lie; count 0 without any
  bool warm_ = false;
  std::optional<ShardedParameters> sharded_;
  std::chrono::steady_clock::time_point due_;
  BucketReducer reducer_;  // last: its thread ends before what it uses
};

}  // namespace

void check(const ReplayPlan& plan, int ranks) {
  const auto most = [](DataType type) -> std::int64_t {
    if (type == DataType::bf16) return 256;  // whole numbers that are exact
    if (type == DataType::f16) return 2048;
    return type == DataType::f32 || type == DataType::f64 ? 1 << 24 : 0;
  };
  for (const DataType type : {plan.type, plan.wire}) {
    require(most(type) > 0,
            fmt::format("replayed gradients are f32, f64, f16 or bf16, not {}", to_string(type)));
    require(ranks <= most(type), fmt::format("the sum of {} ranks is not exact in {}, so it could "
                                             "not be checked",
                                             ranks, to_string(type)));
  }
}

ReplicaReport replay_rank(const ReplayPlan& plan, Communicator& communicator) {
  check(plan, communicator.ranks());
  ReplayRank rank(plan, communicator);
  rank.step();  // makes plans, and meets cold caches
  ReplicaReport report;
  for (int i = 0; i < plan.steps; ++i) report.steps.push_back(rank.step());
  rank.meet();
  return report;
}

std::vector<ReplicaReport> replay(const ReplayPlan& plan, World& world, const WorldSpec& spec) {
  check(plan, world.ranks());
  const RankRange own = world.own_ranks();
  const int vectors = plan.sharding == StateSharding::none ? 1 : 2;
  const Bytes needed = Bytes{elements_of(plan.tensors) * size_of(plan.type)} * own.count * vectors;
  require_available(needed, fmt::format("the gradients of {} replicas", own.count));
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(own.count));
  const auto run = [&](RankContext& context) {
    reports[static_cast<std::size_t>(context.rank - own.first)] =
        replay_rank(plan, world.communicator(spec, context));
  };
  world.on_all(spec, plan.timeout, {.run = run, .order = {}, .answer = {}});
  return reports;
}

}  // namespace collbench

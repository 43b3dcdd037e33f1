#include "training/replay.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "training/bucket_reducer.h"
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
        gradients_(static_cast<std::size_t>(elements_of(plan.tensors) * size_of(plan.type))),
        reducer_(communicator, {gradients_.data(), elements_of(plan.tensors), plan.type},
                 plan.buckets, {.type = plan.wire}) {}

  StepTimes step() {
    for (auto to = gradients_.begin(); to != gradients_.end();) {
      to = std::copy(one_.begin(), one_.end(), to);
    }
    const StepTimes times = run_step(*this, reducer_, elements_of(plan_.tensors), plan_.overlap);
    require_sums();
    return times;
  }

  /// No rank reads another's gradients any more.
  void finish() {
    reducer_.run([this] { communicator_.barrier(); });
  }

 private:
  Seconds now() const override { return communicator_.now(); }
  void forward() override {
    due_ = std::chrono::steady_clock::now();
    wait_for(plan_.compute.forward());
  }
  void backward(const GradientsReady& ready) override {
    play_backward(
        plan_.compute, plan_.tensors, [this](int, Seconds work) { wait_for(work); },
        [&ready](const Tensor& tensor) { ready(tensor.first + tensor.count); });
  }
  void update() override {
    due_ = std::chrono::steady_clock::now();
    wait_for(plan_.compute.optimizer);
  }

  void wait_for(Seconds work) {
    due_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(work);
    std::this_thread::sleep_until(due_);
  }

  void require_sums() const {
    for (std::int64_t i = 0; i < elements_of(plan_.tensors); ++i) {
      const auto element = gradients_.begin() + i * std::ssize(sum_);
      if (std::equal(sum_.begin(), sum_.end(), element)) continue;
      throw WrongResult(fmt::format("rank {}: element {} of the gradients is not the sum, {}",
                                    communicator_.rank(), i, communicator_.ranks()));
    }
  }

  const ReplayPlan& plan_;
  Communicator& communicator_;
  std::vector<std::byte> one_;
  std::vector<std::byte> sum_;
  std::vector<std::byte> gradients_;
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
  rank.finish();
  return report;
}

std::vector<ReplicaReport> replay(const ReplayPlan& plan, World& world, const WorldSpec& spec) {
  check(plan, world.ranks());
  const RankRange own = world.own_ranks();
  const Bytes needed = Bytes{elements_of(plan.tensors) * size_of(plan.type)} * own.count;
  require_available(needed, fmt::format("the gradients of {} replicas", own.count));
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(own.count));
  const auto run = [&](RankContext& context) {
    reports[static_cast<std::size_t>(context.rank - own.first)] =
        replay_rank(plan, world.communicator(spec, context));
  };
  world.on_all(spec, Seconds{60}, {.run = run, .order = {}, .answer = {}});
  return reports;
}

}  // namespace collbench

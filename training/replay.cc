#include "training/replay.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "training/bucket_reducer.h"
#include "training/wire_type.h"

namespace collbench {
namespace {

std::int64_t elements_of(const ReplayPlan& plan) {
  return plan.tensors.empty() ? 0 : plan.tensors.back().first + plan.tensors.back().count;
}

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

class ReplayRank {
 public:
  ReplayRank(const ReplayPlan& plan, Communicator& communicator)
      : plan_(plan),
        communicator_(communicator),
        one_(stored(1, plan.type)),
        sum_(stored(static_cast<float>(communicator.ranks()), plan.type)),
        gradients_(static_cast<std::size_t>(elements_of(plan) * size_of(plan.type))),
        reducer_(communicator, {gradients_.data(), elements_of(plan), plan.type}, plan.buckets,
                 {.type = plan.wire}) {}

  StepTimes step() {
    StepTimes times;
    for (auto to = gradients_.begin(); to != gradients_.end();) {
      to = std::copy(one_.begin(), one_.end(), to);
    }
    const Seconds begin = communicator_.now();
    Seconds last = begin;
    const auto lap = [&] {
      const Seconds before = std::exchange(last, communicator_.now());
      return last - before;
    };
    due_ = std::chrono::steady_clock::now();
    wait_for(plan_.compute.forward());
    times.forward = lap();
    backward();
    times.backward = lap();
    reducer_.start_up_to(elements_of(plan_));
    times.communication = reducer_.wait().time;
    times.exposed = lap();
    due_ = std::chrono::steady_clock::now();
    wait_for(plan_.compute.optimizer);
    times.optimizer = lap();
    times.whole = last - begin;
    require_sums();
    return times;
  }

  /// No rank reads another's gradients any more.
  void finish() {
    reducer_.run([this] { communicator_.barrier(); });
  }

 private:
  void wait_for(Seconds work) {
    due_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(work);
    std::this_thread::sleep_until(due_);
  }

  void backward() {
    std::size_t tensor = 0;
    for (std::size_t layer = plan_.compute.layers.size(); layer-- > 0;) {
      wait_for(plan_.compute.layers[layer].weight);
      const std::size_t before = tensor;
      while (tensor < plan_.tensors.size() &&
             plan_.tensors[tensor].layer == static_cast<int>(layer)) {
        ++tensor;
      }
      if (plan_.overlap && tensor > before) {
        const Tensor& last = plan_.tensors[tensor - 1];
        reducer_.start_up_to(last.first + last.count);
      }
      wait_for(plan_.compute.layers[layer].input);
    }
  }

  void require_sums() const {
    for (std::int64_t i = 0; i < elements_of(plan_); ++i) {
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

std::vector<StepTimes> replay_rank(const ReplayPlan& plan, Communicator& communicator) {
  check(plan, communicator.ranks());
  ReplayRank rank(plan, communicator);
  rank.step();  // makes plans, and meets cold caches
  std::vector<StepTimes> steps;
  for (int i = 0; i < plan.steps; ++i) steps.push_back(rank.step());
  rank.finish();
  return steps;
}

std::vector<std::vector<StepTimes>> replay(const ReplayPlan& plan, World& world,
                                           const WorldSpec& spec) {
  check(plan, world.ranks());
  const RankRange own = world.own_ranks();
  const Bytes needed = Bytes{elements_of(plan) * size_of(plan.type)} * own.count;
  if (needed > available_memory()) {
    throw Unavailable(fmt::format("the gradients of {} replicas take {}; {} are available",
                                  own.count, to_string(needed), to_string(available_memory())));
  }
  std::vector<std::vector<StepTimes>> times(static_cast<std::size_t>(own.count));
  const auto run = [&](RankContext& context) {
    times[static_cast<std::size_t>(context.rank - own.first)] =
        replay_rank(plan, world.communicator(spec, context));
  };
  world.on_all(spec, Seconds{60}, {.run = run, .order = {}, .answer = {}});
  return times;
}

}  // namespace collbench

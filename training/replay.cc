#include "training/replay.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "training/bucket_reducer.h"
#include "training/gradient_schedule.h"
#include "transports/schedule_communicator.h"
#include "transports/shm_world.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

std::int64_t elements_of(const ReplayPlan& plan) {
  return plan.tensors.empty() ? 0 : plan.tensors.back().first + plan.tensors.back().count;
}

class ReplayRank {
 public:
  ReplayRank(const ReplayPlan& plan, Communicator& communicator)
      : plan_(plan),
        communicator_(communicator),
        gradients_(static_cast<std::size_t>(elements_of(plan))),
        reducer_(
            communicator,
            {reinterpret_cast<std::byte*>(gradients_.data()), elements_of(plan), DataType::f32},
            plan.buckets, {.type = plan.type}) {}

  StepTimes step() {
    StepTimes times;
    std::fill(gradients_.begin(), gradients_.end(), 1.0F);
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
    times.communication = reducer_.wait();
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
    const auto sum = static_cast<float>(communicator_.ranks());
    const auto wrong = std::find_if(gradients_.begin(), gradients_.end(),
                                    [sum](float value) { return value != sum; });
    if (wrong != gradients_.end()) {
      throw WrongResult(fmt::format("rank {}: element {} of the gradients is {}, not {}",
                                    communicator_.rank(), wrong - gradients_.begin(), *wrong, sum));
    }
  }

  const ReplayPlan& plan_;
  Communicator& communicator_;
  std::vector<float> gradients_;
  std::chrono::steady_clock::time_point due_;
  BucketReducer reducer_;  // last: its thread ends before what it uses
};

}  // namespace

std::vector<StepTimes> replay_rank(const ReplayPlan& plan, Communicator& communicator) {
  ReplayRank rank(plan, communicator);
  std::vector<StepTimes> steps;
  for (int i = 0; i < plan.steps; ++i) steps.push_back(rank.step());
  rank.finish();
  return steps;
}

std::vector<std::vector<StepTimes>> replay_threads(const ReplayPlan& plan, int replicas,
                                                   const std::string& algorithm) {
  require(replicas >= 1, fmt::format("a replay needs at least 1 replica, not {}", replicas));
  const Bytes needed = Bytes{elements_of(plan) * 4} * replicas;
  if (needed > available_memory()) {
    throw Unavailable(fmt::format("the gradients of {} replicas take {}; {} are available",
                                  replicas, to_string(needed), to_string(available_memory())));
  }
  const ScheduleChoice schedule = gradient_schedule(algorithm, "shm", replicas, usable_cores());
  const std::shared_ptr<std::byte> world = allocate_shm_world(replicas, {});
  std::vector<std::vector<StepTimes>> times(static_cast<std::size_t>(replicas));
  std::vector<std::unique_ptr<Communicator>> kept(times.size());  // peers may still read
  std::exception_ptr first_failure;
  std::mutex mutex;
  const auto replay = [&](Rank rank) {
    const auto place = static_cast<std::size_t>(rank);
    try {
      kept[place] =
          make_schedule_communicator(schedule, make_shm_endpoint({.world = world.get()}, rank),
                                     algorithm + " over shared memory of threads");
      times[place] = replay_rank(plan, *kept[place]);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first_failure) first_failure = std::current_exception();
      abort_shm_world(world.get(), fmt::format("replica {} has failed", rank));
    }
  };
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < replicas; ++rank) threads.emplace_back(replay, rank);
  for (std::thread& thread : threads) thread.join();
  if (first_failure) std::rethrow_exception(first_failure);
  return times;
}

}  // namespace collbench

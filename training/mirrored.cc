#include "training/mirrored.h"

#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/schedule_communicator.h"
#include "transports/shm_world.h"

namespace collbench {

std::vector<ReplicaReport> train_mirrored(const TrainingPlan& plan, int replicas,
                                          const std::string& algorithm, const Dataset& data,
                                          const Dataset& held_out,
                                          const TrainingObserver& observer) {
  check(plan, data, replicas);
  const Schedule schedule = make_schedule(algorithm, replicas);
  require(is_replica_consistent(parse_algorithm_spec(algorithm)),
          fmt::format("{} may leave different rounding on different ranks, and replicas must stay "
                      "equal to the bit; ring does",
                      algorithm));
  const std::shared_ptr<std::byte> world = allocate_shm_world(replicas, {});
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(replicas));
  std::exception_ptr first_failure;
  std::mutex mutex;
  const auto train = [&](Rank rank) {
    try {
      const auto communicator =
          make_schedule_communicator(schedule, make_shm_endpoint({.world = world.get()}, rank),
                                     schedule.name() + " over shared memory of threads");
      reports[static_cast<std::size_t>(rank)] = train_replica(
          plan, data, held_out, *communicator, rank == 0 ? observer : TrainingObserver());
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first_failure) first_failure = std::current_exception();
      abort_shm_world(world.get(), fmt::format("replica {} has failed", rank));
    }
  };
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < replicas; ++rank) threads.emplace_back(train, rank);
  for (std::thread& thread : threads) thread.join();
  if (first_failure) std::rethrow_exception(first_failure);
  return reports;
}

}  // namespace collbench

#include "training/mirrored.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/engine.h"
#include "training/gradient_schedule.h"
#include "training/replica_threads.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

/// What peers may read until all threads have left.
struct Kept {
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Communicator> summing;  // of the central strategy; else null
  std::shared_ptr<void> replica;          // uses the communicator, and so ends first
};

}  // namespace

std::vector<ReplicaReport> train_mirrored(const TrainingPlan& plan, int replicas,
                                          const std::string& algorithm, const Dataset& data,
                                          const Dataset& held_out, const ReplicaHooks& hooks) {
  check(plan, data, replicas);
  const ComputeEngine& engine = find_engine(plan.engine, plan.type);
  const bool by_nccl = algorithm.substr(0, algorithm.find(':')) == "nccl";
  if (by_nccl && engine.make_world == nullptr) {
    throw Unavailable(fmt::format(
        "nccl sums on GPUs, and engine {} computes on the CPU; use ring or auto, or --engine cudnn",
        engine.name));
  }
  const ScheduleChoice schedule =
      gradient_schedule(by_nccl ? "ring" : algorithm, "shm", replicas, usable_cores());
  EngineWorld devices;
  if (engine.make_world != nullptr) devices = engine.make_world(replicas, schedule, algorithm);
  const std::shared_ptr<std::byte> world = allocate_shm_world(replicas, {});
  const std::shared_ptr<std::byte> central =
      plan.central ? allocate_shm_world(replicas, {}) : nullptr;
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(replicas));
  std::vector<Kept> kept(reports.size());
  const auto train = [&](Rank rank) {
    const auto place = static_cast<std::size_t>(rank);
    if (devices.enter) devices.enter(rank);
    kept[place].communicator =
        make_schedule_communicator(schedule, make_shm_endpoint({.world = world.get()}, rank),
                                   algorithm + " over shared memory of threads");
    if (devices.join) {
      kept[place].communicator = devices.join(rank, std::move(kept[place].communicator));
    }
    if (plan.central) {
      kept[place].summing = make_schedule_communicator(
          reduce_to_one(replicas), make_shm_endpoint({.world = central.get()}, rank),
          "to one device over shared memory of threads");
    }
    ReplicaHooks own = hooks;
    if (rank != 0) own.on_step = {}, own.stop_wanted = {};
    reports[place] = train_replica(plan, data, held_out, *kept[place].communicator, own,
                                   &kept[place].replica, kept[place].summing.get());
    if (!devices.join) return;
    // On devices all leave together, each on its thread: NCCL waits for the others there.
    kept[place].communicator->barrier();
    kept[place].replica.reset();
    kept[place].communicator.reset();
  };
  const auto abort = [&](Rank rank) {
    const std::string why = fmt::format("replica {} has failed", rank);
    abort_shm_world(world.get(), why);
    if (devices.abort) devices.abort(why);
    if (central) abort_shm_world(central.get(), why);
  };
  run_replica_threads(replicas, train, abort);
  return reports;
}

}  // namespace collbench

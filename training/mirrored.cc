#include "training/mirrored.h"

#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "algorithms/rooted.h"
#include "core/error.h"
#include "training/engines/engine.h"
#include "training/gradient_schedule.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

/// What other replicas may read until all have left; the first member ends last.
struct KeptReplica {
  std::unique_ptr<Communicator> on_devices;
  std::unique_ptr<Communicator> summing;  // of the central strategy; else null
  std::shared_ptr<void> replica;
};

WorldSpec summing_on_one(WorldSpec spec) {
  spec.algorithm = "to one device";
  spec.schedules = [ranks = spec.ranks](Bytes, DataType) { return reduce_to_one(ranks); };
  return spec;
}

/// One training run: what its ranks share.
struct MirroredRun {
  World& world;
  const WorldSpec& spec;
  const TrainingPlan& plan;
  const Dataset& data;
  const Dataset& held_out;
  const ReplicaHooks& hooks;
  EngineWorld devices;  // of engines that compute on devices; else empty

  ReplicaReport train(RankContext& context) const {
    if (devices.enter) devices.enter(context.rank);
    const auto kept = std::make_shared<KeptReplica>();
    context.kept = kept;
    Communicator* joined = &world.communicator(spec, context);
    if (devices.join) {
      kept->on_devices = devices.join(context.rank, std::move(context.communicator));
      joined = kept->on_devices.get();
    }
    if (plan.central) {
      kept->summing = world.backend().make_communicator(summing_on_one(spec), context);
    }
    ReplicaHooks own = hooks;
    const bool first = context.rank == world.own_ranks().first;
    if (!first) own.on_step = {}, own.stop_wanted = {};
    if (first && own.around) joined = &own.around(*joined);
    ReplicaReport report =
        train_replica(plan, data, held_out, *joined, own, &kept->replica, kept->summing.get());
    if (devices.join) {
      // On devices all leave together, each on its thread: NCCL waits for the others there.
      joined->barrier();
      kept->replica.reset();
      kept->on_devices.reset();
    }
    return report;
  }
};

}  // namespace

std::vector<ReplicaReport> train_mirrored(World& world, const WorldSpec& spec,
                                          const TrainingPlan& plan, const Dataset& data,
                                          const Dataset& held_out, const ReplicaHooks& hooks) {
  check(plan, data, world.ranks());
  const ComputeEngine& engine = find_engine(plan.engine, plan.type);
  MirroredRun run{world, spec, plan, data, held_out, hooks, {}};
  if (engine.make_world != nullptr) {
    run.devices = engine.make_world(world.ranks(), spec.schedules, spec.algorithm, plan.timeout);
  }
  const RankRange own = world.own_ranks();
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(own.count));
  const auto train = [&](RankContext& context) {
    try {
      reports[static_cast<std::size_t>(context.rank - own.first)] = run.train(context);
    } catch (...) {
      if (run.devices.abort) {
        run.devices.abort(fmt::format("replica {} has failed", context.rank));
      }
      throw;
    }
  };
  world.on_all(spec, run.plan.timeout, {.run = train, .order = {}, .answer = {}});
  return reports;
}

std::vector<ReplicaReport> gather_reports(const std::vector<ReplicaReport>& own,
                                          Rendezvous& rendezvous) {
  constexpr std::size_t width = sizeof(StepTimes) / sizeof(std::int64_t);
  static_assert(std::is_trivially_copyable_v<StepTimes> && width * 8 == sizeof(StepTimes));
  std::vector<std::int64_t> words;
  for (const ReplicaReport& report : own) {
    const std::size_t begin = words.size();
    words.resize(begin + report.steps.size() * width);
    std::memcpy(words.data() + begin, report.steps.data(), report.steps.size() * sizeof(StepTimes));
  }
  const std::vector<std::int64_t> all = rendezvous.gather(words);
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(rendezvous.ranks()) * own.size(),
                                     own[0]);
  const std::int64_t* next = all.data();
  for (ReplicaReport& report : reports) {
    std::memcpy(static_cast<void*>(report.steps.data()), next,
                report.steps.size() * sizeof(StepTimes));
    next += report.steps.size() * width;
  }
  return reports;
}

std::vector<ReplicaReport> train_mirrored(const TrainingPlan& given, int replicas,
                                          const std::string& algorithm, const Dataset& data,
                                          const Dataset& held_out, const ReplicaHooks& hooks,
                                          const std::string& backend) {
  TrainingPlan plan = given;
  plan.replicas = replicas;
  check(plan, data, replicas);
  const Backend* library = black_box(algorithm);
  const bool on_devices = find_engine(plan.engine, plan.type).make_world != nullptr;
  if (library != nullptr && library->on_gpus && !on_devices) {
    throw Unavailable(fmt::format(
        "{} sums on GPUs, and engine {} computes on the CPU; use ring or auto, or --engine cudnn",
        library->name, find_engine(plan.engine, plan.type).name));
  }
  // What devices sum themselves needs a schedule only for the little that hosts sum beside it.
  const bool by_library = library != nullptr && on_devices;
  WorldSpec spec = gradient_world(by_library ? "ring" : algorithm, find_backend(backend), replicas,
                                  usable_cores(), plan.state_sharding);
  if (by_library) spec.algorithm = algorithm;
  spec.communicators = plan.central ? 2 : 1;
  const std::unique_ptr<World> world = start_world(spec, plan.timeout);
  return train_mirrored(*world, spec, plan, data, held_out, hooks);
}

}  // namespace collbench

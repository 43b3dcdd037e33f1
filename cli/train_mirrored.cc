// The strategies that keep replicas equal: as threads of this process, or this process as one of
// several workers.
#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/isolated_tasks.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "cli/train_runs.h"
#include "cli/train_session.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/stop_request.h"
#include "training/gradient_schedule.h"
#include "training/mirrored.h"
#include "training/step_recorder.h"
#include "transports/world/agreement.h"
#include "transports/world/backend.h"
#include "transports/world/core_order.h"
#include "transports/world/nested_world.h"

namespace collbench {
namespace {

/// The work of one of several workers. Returns the exit code.
int train_as_one_of(JoinedWorld& workers, const std::string& source, const Settings& settings) {
  TrainingPlan plan;
  Samples samples;
  std::string algorithm;
  std::optional<TrainSession> session;
  std::optional<NestedWorld> world;
  WorldSpec spec;
  std::string state;
  const bool chief = workers.rank() == 0;
  together(workers.rendezvous(), [&] {
    plan = plan_of(settings);
    algorithm = gradient_algorithm(settings);
    world.emplace(workers, settings.count("replicas", 1, 512));
    per_replica_batch(plan.global_batch, world->ranks());
    session.emplace(settings, plan, chief);
    samples = samples_of(settings, plan);
    session->use(samples.train);
    check(plan, samples.train, world->ranks());
    require(plan.state_sharding == StateSharding::none || world->ranks() == workers.ranks(),
            fmt::format("{} divides among workers of one replica each: leave out {}",
                        settings.label("sharding"), settings.label("replicas")));
    spec = gradient_world(algorithm, workers.backend(), workers.ranks(),
                          workers.processors_of_rank_0(), plan.state_sharding);
  });
  require_same(values_of(settings, plan, samples), workers.rendezvous());
  together(workers.rendezvous(), [&] {
    if (chief) state = session->file_to_resume();
  });
  session->resume(workers.from_rank_0(std::move(state)));
  session->begin(steps_per_epoch(plan, samples.train, world->ranks()));
  StepRecorder recorder;
  const auto reports =
      gather_reports(train_mirrored(*world, spec, plan, samples.train, samples.held_out,
                                    recorder.recorded(session->hooks())),
                     workers.rendezvous());
  if (chief) {
    write_output(settings.text("trace"),
                 [&](std::ostream& out) { recorder.write(out, reports[0].steps); });
  }
  const Rank own = world->own_ranks().first;
  const int code = session->finish(reports[static_cast<std::size_t>(own)], own);
  if (chief) {
    report_training(settings, plan, samples, algorithm, reports);
  } else {
    std::cerr << fmt::format(
        "{}trained {} steps as worker {} of {} (by {}); rank 0 has the "
        "figures\n",
        speaker(), reports[0].steps.size(), workers.rank(), workers.ranks(), source);
  }
  return code;
}

int train_joined(const Settings& settings, TrainingWorkers workers) {
  watch_stop_signals();
  return join_workers(settings, std::move(workers),
                      [&](JoinedWorld& world, const std::string& source) {
                        return train_as_one_of(world, source, settings);
                      });
}

/// The cores that --devices names, each once; none if it is not given. Throws InvalidArgument, for
/// duplicates in TensorFlow's words.
std::vector<int> devices_of(const Settings& settings) {
  std::vector<int> cores;
  if (!settings.given("devices")) return cores;
  const std::string label = settings.label("devices");
  require(!settings.given("workers"),
          fmt::format("{} says how many replicas there are; leave {} out", label,
                      settings.label("workers")));
  const std::vector<std::string> names = settings.list("devices");
  for (const std::string& name : names) {
    const bool is_core = name.starts_with("cpu:") || name.starts_with("CPU:");
    require(is_core,
            fmt::format("{}: '{}' is no device here; those are cpu:0, cpu:1, ..", label, name));
    const long last = sysconf(_SC_NPROCESSORS_CONF) - 1;
    const auto core = static_cast<int>(parse_count(label, name.substr(4), 0, last));
    require(std::find(cores.begin(), cores.end(), core) == cores.end(),
            fmt::format("{}: No duplicates allowed in `devices` argument: {}", label,
                        fmt::join(names, ", ")));
    cores.push_back(core);
  }
  return cores;
}

/// The back end on which threads sum, or null where its ranks are processes. Throws Unavailable for
/// one whose ranks cannot train.
const Backend* backend_of_threads(const Settings& settings, int workers) {
  if (settings.text("backend") == "auto") return &usual_backend();
  const Backend& backend = find_backend(settings.text("backend"));
  require_usable(backend);
  if (backend.on_gpus) {
    throw Unavailable(
        fmt::format("{}: {} sums in the memory of GPUs; --engine cudnn does that by "
                    "itself, on any back end",
                    settings.label("backend"), backend.name));
  }
  WorldSpec spec;
  spec.backend = backend.name;
  spec.ranks = workers;
  spec.algorithm = "ring";
  if (rank_kind(backend, spec) == RankKind::threads) return &backend;
  if (backend.join_remote == nullptr) {
    throw Unavailable(fmt::format("{}: training cannot join the processes that {} starts",
                                  settings.label("backend"), backend.name));
  }
  return nullptr;
}

/// Trains `workers` replicas, on `cores` if there are any, with all that the options ask for beside
/// it, and reports. Returns the exit code.
int train_threads(const Settings& settings, const TrainingPlan& plan, int workers,
                  const std::string& algorithm, const std::vector<int>& cores) {
  const Backend* backend = backend_of_threads(settings, workers);
  if (backend == nullptr) {
    require(!plan.central && !plan.mean_before_sum && cores.empty(),
            fmt::format("{}: only the mirrored strategies run in processes, without --devices",
                        settings.label("backend")));
    std::optional<TrainingWorkers> launched = launched_workers(settings);
    return train_joined(settings, launched ? std::move(*launched) : isolated_workers(settings));
  }
  require(!settings.given("trace"),
          fmt::format("{} follows one process: add --backend of processes, or --workload",
                      settings.label("trace")));
  per_replica_batch(plan.global_batch, workers);
  TrainSession session(settings, plan, true);
  const Samples samples = session.prepare(workers);
  ReplicaHooks hooks = session.hooks();
  if (!cores.empty()) {
    hooks.on_thread = [&cores](Rank rank) { pin_to_core(rank, cores); };
  }
  const auto reports = train_mirrored(plan, workers, algorithm, samples.train, samples.held_out,
                                      hooks, backend->name);
  const int code = session.finish(reports[0], 0);
  report_training(settings, plan, samples,
                  plan.central ? "reduce to one device, broadcast" : algorithm, reports);
  return code;
}

}  // namespace

int train_mirrored(const Settings& settings) {
  const TrainingPlan plan = plan_of(settings);
  const std::vector<int> cores = devices_of(settings);
  const int workers =
      cores.empty() ? settings.count("workers", 1, 512) : static_cast<int>(cores.size());
  return train_threads(settings, plan, workers, gradient_algorithm(settings), cores);
}

int train_tpu(const Settings& settings) {
  const bool is_asked = settings.given("algo") || settings.given("communication");
  return train_threads(settings, plan_of(settings), settings.count("workers", 1, 512),
                       is_asked ? gradient_algorithm(settings) : "torus", {});
}

int train_central(const Settings& settings) {
  for (const char* name : {"algo", "communication"}) {
    require(!settings.given(name),
            fmt::format("{}: central-storage sums on one device", settings.label(name)));
  }
  const auto workers = settings.count("workers", 1, 512);
  return train_threads(settings, plan_of(settings), workers, "direct", {});
}

int train_workers(const Settings& settings) {
  if (settings.flag("isolate")) return train_joined(settings, isolated_workers(settings));
  std::optional<TrainingWorkers> workers = launched_workers(settings);
  if (!workers) {  // as in TensorFlow, which does so silently
    std::cerr << "collbench: no TF_CONFIG, launcher or --hosts: this is the only worker\n";
    return train_threads(settings, plan_of(settings), 1, gradient_algorithm(settings), {});
  }
  if (workers->self.evaluator) return evaluate_checkpoints(settings);
  return train_joined(settings, std::move(*workers));
}

}  // namespace collbench

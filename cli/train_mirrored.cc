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
#include "cli/remote.h"
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
    plan.replicas = settings.count("replicas", 1, 512);
    world.emplace(workers, plan.replicas);
    per_replica_batch(plan.global_batch, world->ranks());
    session.emplace(settings, plan, chief);
    samples = samples_of(settings, plan);
    check(plan, samples.train, world->ranks());
    session->use(samples.train, world->ranks());
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
  const auto show = [&] {
    if (!chief) return;
    GradientExchange exchange{algorithm, workers.backend().name, settings.text("transport")};
    exchange.replicas = plan.replicas;
    report_training(settings, plan, samples, exchange, reports);
  };
  const int code = session->finish(reports[static_cast<std::size_t>(own)], own, show);
  if (!chief) {
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
    require(
        std::ranges::find(usable_core_sites(), core, &CoreSite::cpu) != usable_core_sites().end(),
        fmt::format("{}: this process may not run on {}", label, name));
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

/// Refuses what belongs to workers that are processes, where replicas are threads of this one.
void require_threads_only(const Settings& settings) {
  const std::string what = fmt::format("--strategy {}", settings.text("strategy"));
  require_one_process(settings,
                      fmt::format("{} trains on threads of one process: --strategy "
                                  "multi-worker-mirrored trains on all, --launcher none on each "
                                  "by itself",
                                  what));
  require(!settings.given("rank"),
          fmt::format("{} has no effect with {}; multi-worker-mirrored takes it",
                      settings.label("rank"), what));
  for (const OptionRow& row : worker_option_rows()) {
    settings.refuse_group(row.group, {"launcher"},
                          fmt::format("with {}; multi-worker-mirrored takes it", what));
  }
}

/// Trains the plan's replicas, on `cores` if there are any, with all that the options ask for
/// beside it, and reports. Returns the exit code.
int train_threads(const Settings& settings, const TrainingPlan& plan, const Backend& backend,
                  const std::string& algorithm, const std::vector<int>& cores) {
  require(
      !settings.given("trace"),
      fmt::format("{} follows one process: add --backend {}, or simulate a step with --workload "
                  "and --topo",
                  settings.label("trace"), remote_backend().name));
  per_replica_batch(plan.global_batch, plan.replicas);
  TrainSession session(settings, plan, true);
  const Samples samples = session.prepare();
  ReplicaHooks hooks = session.hooks();
  if (!cores.empty()) {
    hooks.on_thread = [&cores](Rank rank) { pin_to_core(rank, cores); };
  }
  const auto reports = train_mirrored(plan, plan.replicas, algorithm, samples.train,
                                      samples.held_out, hooks, backend.name);
  const int code = session.finish(reports[0], 0);
  GradientExchange exchange{plan.central ? "reduce to one device, broadcast" : algorithm,
                            backend.name};
  if (settings.text("strategy") == "multi-worker-mirrored") exchange.replicas = plan.replicas;
  report_training(settings, plan, samples, exchange, reports);
  return code;
}

/// The same, or in processes where --backend says so.
int train_replicas(const Settings& settings, TrainingPlan plan, int workers,
                   const std::string& algorithm, const std::vector<int>& cores) {
  plan.replicas = workers;
  if (const Backend* const backend = backend_of_threads(settings, workers)) {
    require_threads_only(settings);
    require(!plan.central || backend->plays_schedules,
            fmt::format("{}: central-storage sums by schedules of ours, and {} plays none",
                        settings.label("backend"), backend->name));
    return train_threads(settings, plan, *backend, algorithm, cores);
  }
  require(!plan.central && !plan.mean_before_sum && cores.empty(),
          fmt::format("{}: only the mirrored strategies run in processes, without --devices",
                      settings.label("backend")));
  std::optional<TrainingWorkers> launched = launched_workers(settings);
  return train_joined(settings, launched ? std::move(*launched) : isolated_workers(settings));
}

/// As the only worker of `multi-worker-mirrored`, without a word in TensorFlow.
int train_only_worker(const Settings& settings, const Backend& backend) {
  require(!settings.given("workers") || settings.count("workers", 1, 512) == 1,
          fmt::format("{} is {}, but nothing names the others (TF_CONFIG, a launcher, --hosts); "
                      "--isolate starts them here",
                      settings.label("workers"), settings.text("workers")));
  std::cerr << "collbench: nothing names other workers (TF_CONFIG, a launcher, --hosts): this is "
               "the only one\n";
  TrainingPlan plan = plan_of(settings);
  plan.replicas = settings.count("replicas", 1, 512);
  return train_threads(settings, plan, backend, gradient_algorithm(settings), {});
}

}  // namespace

int train_mirrored(const Settings& settings) {
  const TrainingPlan plan = plan_of(settings);
  const std::vector<int> cores = devices_of(settings);
  const int workers =
      cores.empty() ? settings.count("workers", 1, 512) : static_cast<int>(cores.size());
  return train_replicas(settings, plan, workers, gradient_algorithm(settings), cores);
}

int train_tpu(const Settings& settings) {
  return train_replicas(settings, plan_of(settings), settings.count("workers", 1, 512),
                        gradient_algorithm(settings, "torus"), {});
}

int train_central(const Settings& settings) {
  for (const char* name : {"algo", "communication"}) {
    require(!settings.given(name),
            fmt::format("{}: central-storage sums on one device", settings.label(name)));
  }
  const auto workers = settings.count("workers", 1, 512);
  return train_replicas(settings, plan_of(settings), workers, "direct", {});
}

int train_workers(const Settings& settings) {
  std::optional<TrainingWorkers> launched;
  if (!settings.flag("isolate")) {
    launched = launched_workers(settings);
    const Backend* const of_threads = launched ? nullptr : backend_of_threads(settings, 1);
    if (of_threads != nullptr) return train_only_worker(settings, *of_threads);
  }
  if (launched && launched->self.evaluator) {
    const int replicas = settings.count("replicas", 1, 512);
    return evaluate_checkpoints(settings, launched->self.workers() * replicas);
  }
  require_backend(settings, remote_backend(), "workers in several processes");
  return train_joined(settings, launched ? std::move(*launched) : isolated_workers(settings));
}

}  // namespace collbench

#include "cli/train_threads.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/interrupt.h"
#include "cli/train_report.h"
#include "cli/train_session.h"
#include "cli/train_workers.h"
#include "core/error.h"
#include "core/parse.h"
#include "training/mirrored.h"
#include "transports/world/backend.h"
#include "transports/world/core_order.h"

namespace collbench {

std::vector<int> devices_of(const Settings& settings) {
  std::vector<int> cores;
  if (!settings.given("devices")) return cores;
  const std::string label = settings.label("devices");
  require(!settings.given("workers"),
          fmt::format("{} says how many replicas there are; leave {} out", label,
                      settings.label("workers")));
  const std::vector<std::string> names = parse_list(label, settings.text("devices"));
  for (const std::string& name : names) {
    const bool is_core = name.starts_with("cpu:") || name.starts_with("CPU:");
    require(is_core,
            fmt::format("{}: '{}' is no device here; those are cpu:0, cpu:1, ..", label, name));
    const auto core = static_cast<int>(parse_count(label, name.substr(4), 0, 1 << 16));
    require(std::find(cores.begin(), cores.end(), core) == cores.end(),
            fmt::format("{}: No duplicates allowed in `devices` argument: {}", label,
                        fmt::join(names, ", ")));
    cores.push_back(core);
  }
  return cores;
}

namespace {

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

}  // namespace

int train_threads(const Settings& settings, const TrainingPlan& plan, int workers,
                  const std::string& algorithm, const std::vector<int>& cores) {
  const Backend* backend = backend_of_threads(settings, workers);
  if (backend == nullptr) {
    require(!plan.central && !plan.mean_before_sum && cores.empty(),
            fmt::format("{}: only the mirrored strategies run in processes, without --devices",
                        settings.label("backend")));
    return train_in_processes(settings);
  }
  per_replica_batch(plan.global_batch, workers);
  TrainSession session(settings, plan, true);
  const Samples samples = samples_of(settings, plan);
  check(plan, samples.train, workers);
  session.resume(session.file_to_resume());
  session.begin(steps_per_epoch(plan, samples.train, workers));
  watch_interrupts();
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

}  // namespace collbench

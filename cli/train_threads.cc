#include "cli/train_threads.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/core_order.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/train_report.h"
#include "cli/train_session.h"
#include "cli/values.h"
#include "core/error.h"
#include "training/mirrored.h"
#include "training/parameter_server.h"

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

int train_threads(const Settings& settings, const TrainingPlan& plan, int workers,
                  const std::string& algorithm, const std::vector<int>& cores) {
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
  const auto reports =
      train_mirrored(plan, workers, algorithm, samples.train, samples.held_out, hooks);
  const int code = session.finish(reports[0], 0);
  report_training(settings, plan, samples, algorithm, reports);
  return code;
}

int train_servers(const Settings& settings) {
  const TrainingPlan plan = plan_of(settings);
  for (const char* name : {"checkpoint", "algo", "communication", "wire", "devices"}) {
    require(!settings.given(name),
            fmt::format("{} is not for parameter-server", settings.label(name)));
  }
  const auto workers = static_cast<int>(count_of(settings, "workers", 1, 512));
  const auto servers = static_cast<int>(count_of(settings, "servers", 1, 512));
  TrainSession session(settings, plan, true);
  const Samples samples = samples_of(settings, plan);
  check(plan, samples.train, 1);
  session.begin(steps_per_epoch(plan, samples.train, 1));
  ServerReport report = train_parameter_server(plan, workers, servers, samples.train,
                                               samples.held_out, session.hooks());
  session.finish(report.workers[0], 0);
  std::erase_if(report.workers, [](const ReplicaReport& own) { return own.steps.empty(); });
  report_training(settings, plan, samples, "asynchronous", report.workers);
  if (settings.text("json") == "-") return exit_ok;
  std::cout << fmt::format(
      "# updates by others between reading and updating: {:.2f} on average, {} "
      "at most; bytes on each server: {}\n",
      report.mean_staleness, report.most_staleness, fmt::join(report.server_bytes, ", "));
  return exit_ok;
}

}  // namespace collbench

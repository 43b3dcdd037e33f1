// `collbench train --workload` without a network to simulate: computing is waited for, all-reduces
// are real. And `--profile`, which writes such a workload from a model of ours.
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/exit_code.h"
#include "cli/isolated_tasks.h"
#include "cli/output_file.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "cli/train_runs.h"
#include "cli/train_simulated.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"
#include "training/gradient_schedule.h"
#include "training/mirrored.h"
#include "training/replay.h"
#include "training/workloads/workload_profile.h"
#include "transports/waiting.h"
#include "transports/world/agreement.h"
#include "transports/world/joined_world.h"

namespace collbench {
namespace {

constexpr int usual_steps = 10;

constexpr StepPart replay_parts[] = {
    {"forward_ms", "forward", &StepTimes::forward},
    {"backward_ms", "backward", &StepTimes::backward},
    {"optimizer_ms", "optimizer", &StepTimes::optimizer},
    {"communication_ms", "communication", &StepTimes::communication},
    {"exposed_ms", "exposed", &StepTimes::exposed},
    {"checks_ms", "checks", &StepTimes::checks},
    {"step_ms", "step", &StepTimes::whole}};

int steps_of(const Settings& settings) {
  return settings.given("steps") ? settings.count("steps", 1) : usual_steps;
}

struct ReplayedWorkload {
  Workload workload;
  std::int64_t batch = 0;  // of a worker
  ReplayPlan plan;
};

ReplayedWorkload replay_of(const Settings& settings, int workers) {
  ReplayedWorkload replay;
  replay.workload = find_workload(settings.text("workload"));
  replay.batch = worker_batch_of(settings, replay.workload, workers, 1);
  ReplayPlan& plan = replay.plan;
  plan.compute = compute_of(settings, replay.workload, replay.batch, workers);
  plan.tensors = tensors_of(replay.workload);
  plan.type = parse_data_type(settings.text("datatype"));
  if (settings.given("wire")) plan.wire = wire_of(settings);
  const std::string& rule = settings.text("buckets");
  require(rule != "auto", fmt::format("{}: auto needs the costs of a network; give --topo",
                                      settings.label("buckets")));
  plan.buckets = plan_buckets(rule, plan.tensors, size_of(plan.type), {});
  plan.steps = steps_of(settings);
  plan.timeout = settings.duration("timeout");
  plan.overlap = !settings.flag("no-overlap");
  plan.sharding = parse_state_sharding(settings.text("sharding"));
  check(plan, workers);
  return replay;
}

void report(const Settings& settings, const ReplayedWorkload& replay,
            const std::vector<ReplicaReport>& reports) {
  const ReplayPlan& plan = replay.plan;
  nlohmann::ordered_json document = {{"workload", replay.workload.name},
                                     {"workers", reports.size()},
                                     {"worker_batch", replay.batch},
                                     {"algorithm", settings.text("algo")},
                                     {"sharding", to_string(plan.sharding)},
                                     {"datatype", to_string(plan.type)},
                                     {"wire", to_string(wire_type(plan.type, plan.wire))},
                                     {"computing", plan.compute.origin},
                                     {"alone_ms", plan.compute.whole().count() * 1e3}};
  std::string table = fmt::format(
      "# {}: {} parameters, {} ({}) of {}; {} replicas, batch {} each\n"
      "# computing is waited for: {}; one worker alone takes {}\n"
      "# medians of {} steps after the first, ms\n",
      replay.workload.name, replay.workload.parameters(),
      counted(std::ssize(plan.buckets), "bucket"), settings.text("buckets"), to_string(plan.type),
      reports.size(), replay.batch, plan.compute.origin, to_string(plan.compute.whole()),
      plan.steps);
  std::vector<std::span<const StepTimes>> ranks;
  for (const ReplicaReport& one : reports) {
    ranks.emplace_back(one.steps);
    nlohmann::ordered_json medians;
    for (const StepPart& part : replay_parts) medians[part.key] = median_ms(one.steps, part);
    document["ranks"].push_back(std::move(medians));
  }
  table += step_table("#rank", replay_parts, ranks);
  if (settings.text("json") != "-") std::cout << table;
  write_output(settings.text("json"),
               [&](std::ostream& out) { out << json_text(document, 1) << '\n'; });
}

/// As one of several processes; rank 0 reports.
void replay_as_one_of(JoinedWorld& world, const Settings& settings) {
  ReplayedWorkload replay;
  WorldSpec spec;
  together(world.rendezvous(), [&] {
    if (world.rank() == 0) require_writable(settings, {"json"});
    replay = replay_of(settings, world.ranks());
    spec = gradient_world(settings.text("algo"), world.backend(), world.ranks(),
                          world.processors_of_rank_0(), replay.plan.sharding);
  });
  std::vector<std::int64_t> tensors;
  for (const Tensor& tensor : replay.plan.tensors) tensors.push_back(tensor.count);
  require_same({{"workload", replay.workload.name},
                {"parameters", std::to_string(replay.workload.parameters())},
                {"data type", std::string(to_string(replay.plan.type))},
                {"wire", std::string(to_string(wire_type(replay.plan.type, replay.plan.wire)))},
                {"buckets", settings.text("buckets")},
                {"sharding", settings.text("sharding")},
                {"algorithm", settings.text("algo")},
                {"steps", std::to_string(replay.plan.steps)},
                {"tensors", fmt::format("{}", fmt::join(tensors, " "))},
                {"batch", std::to_string(replay.batch)},
                {"overlap", replay.plan.overlap ? "yes" : "no"}},
               world.rendezvous());
  const auto reports =
      gather_reports(collbench::replay(replay.plan, world, spec), world.rendezvous());
  if (world.rank() == 0) report(settings, replay, reports);
}

/// On threads of this process.
void replay_here(const Settings& settings) {
  require_backend(settings, usual_backend(), "replayed threads");
  require_writable(settings, {"json"});
  const auto workers = settings.count("workers", 1, 512);
  const ReplayedWorkload replay = replay_of(settings, workers);
  const WorldSpec spec = gradient_world(settings.text("algo"), usual_backend(), workers,
                                        usable_cores(), replay.plan.sharding);
  const std::unique_ptr<World> world = start_world(spec, replay.plan.timeout);
  report(settings, replay, collbench::replay(replay.plan, *world, spec));
}

}  // namespace

int train_replay(const Settings& settings) {
  for (const char* name : {"trace", "accumulate"}) {
    require(
        !settings.given(name),
        fmt::format("{} of a workload is of a simulated step: give --topo", settings.label(name)));
  }
  require_all_reduce(settings);
  const bool isolates = settings.flag("isolate");
  std::optional<TrainingWorkers> workers;
  if (!isolates) workers = launched_workers(settings);
  if (!isolates && !workers) {
    replay_here(settings);
    return exit_ok;
  }
  require_backend(settings, remote_backend(), "workers in several processes");
  if (isolates) workers = isolated_workers(settings);
  require(!workers->self.evaluator, "a replay has nothing to evaluate");
  return join_workers(settings, std::move(*workers), [&](JoinedWorld& world, const std::string&) {
    replay_as_one_of(world, settings);
    return exit_ok;
  });
}

int write_profile(const Settings& settings) {
  require(!settings.given("workload"),
          fmt::format("{} times a model: give --model, not --workload", settings.label("profile")));
  require_writable(settings, {"profile"});
  const TrainingPlan plan = plan_of(settings);
  const int workers = settings.count("workers", 1, 512);
  const Workload workload =
      measure_workload(plan, samples_of(settings, plan).train,
                       per_replica_batch(plan.global_batch, workers), steps_of(settings));
  write_output(settings.text("profile"), [&](std::ostream& out) { out << to_table(workload); });
  return exit_ok;
}

}  // namespace collbench

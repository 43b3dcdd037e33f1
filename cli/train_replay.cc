#include "cli/train_replay.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/train_cluster.h"
#include "cli/train_options.h"
#include "cli/train_simulated.h"
#include "cli/train_team.h"
#include "core/error.h"
#include "training/replay.h"
#include "training/workloads/workload_profile.h"

namespace collbench {
namespace {

constexpr std::int64_t usual_steps = 10;

struct Part {
  const char* name;
  Seconds StepTimes::*time;
};
constexpr Part parts[] = {
    {"forward", &StepTimes::forward},     {"backward", &StepTimes::backward},
    {"optimizer", &StepTimes::optimizer}, {"communication", &StepTimes::communication},
    {"exposed", &StepTimes::exposed},     {"checks", &StepTimes::checks},
    {"step", &StepTimes::whole}};

double median_ms(const std::vector<StepTimes>& steps, Seconds StepTimes::*time) {
  std::vector<double> values;
  for (const StepTimes& step : steps) values.push_back((step.*time).count() * 1e3);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::int64_t steps_of(const Settings& settings) {
  return settings.given("steps") ? count_of(settings, "steps", 1) : usual_steps;
}

struct Replay {
  Workload workload;
  std::int64_t batch = 0;  // of a worker
  ReplayPlan plan;
};

Replay replay_of(const Settings& settings, int workers) {
  Replay replay;
  replay.workload = find_workload(settings.text("workload"));
  replay.batch = worker_batch_of(settings, workers, 1);
  ReplayPlan& plan = replay.plan;
  plan.compute = compute_of(settings, replay.workload, replay.batch);
  plan.tensors = tensors_of(replay.workload);
  plan.type = parse_data_type(settings.text("datatype"));
  if (settings.given("wire")) plan.wire = parse_data_type(settings.text("wire"));
  const std::string& rule = settings.text("buckets");
  require(rule != "auto", fmt::format("{}: auto needs the costs of a network; give --topo",
                                      settings.label("buckets")));
  plan.buckets = plan_buckets(rule, plan.tensors, size_of(plan.type), {});
  plan.steps = static_cast<int>(steps_of(settings));
  plan.overlap = !settings.flag("no-overlap");
  check(plan, workers);
  return replay;
}

void report(const Settings& settings, const Replay& replay,
            const std::vector<std::vector<StepTimes>>& ranks) {
  const ReplayPlan& plan = replay.plan;
  nlohmann::ordered_json document = {
      {"workload", replay.workload.name}, {"workers", ranks.size()},
      {"worker_batch", replay.batch},     {"algorithm", settings.text("algo")},
      {"datatype", to_string(plan.type)}, {"wire", settings.text("wire")},
      {"computing", plan.compute.origin}, {"alone_ms", plan.compute.whole().count() * 1e3}};
  std::string table = fmt::format(
      "# {}: {} parameters, {} buckets ({}) of {}; {} replicas, batch {} each\n"
      "# computing is waited for: {}; one worker alone takes {}\n"
      "# medians of {} steps after the first, ms\n#rank",
      replay.workload.name, replay.workload.parameters(), plan.buckets.size(),
      settings.text("buckets"), to_string(plan.type), ranks.size(), replay.batch,
      plan.compute.origin, to_string(plan.compute.whole()), plan.steps);
  for (const Part& part : parts) table += fmt::format(" {:>13}", part.name);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    table += fmt::format("\n {:>4}", rank);
    nlohmann::ordered_json medians;
    for (const Part& part : parts) {
      const double time = median_ms(ranks[rank], part.time);
      table += fmt::format(" {:>13.3f}", time);
      medians[std::string(part.name) + "_ms"] = time;
    }
    document["ranks"].push_back(std::move(medians));
  }
  if (settings.text("json") != "-") std::cout << table << '\n';
  write_output(settings.text("json"), [&](std::ostream& out) { out << document.dump(1) << '\n'; });
}

/// As one of several processes; rank 0 reports.
void replay_as_one_of(TrainTeam& team, const Settings& settings) {
  Replay replay;
  team.together([&] { replay = replay_of(settings, team.ranks()); });
  team.compare({{"workload", replay.workload.name},
                {"parameters", std::to_string(replay.workload.parameters())},
                {"data type", std::string(to_string(replay.plan.type))},
                {"wire", settings.text("wire")},
                {"buckets", settings.text("buckets")},
                {"algorithm", settings.text("algo")},
                {"steps", std::to_string(replay.plan.steps)}});
  const auto communicator = team.communicator(settings.text("algo"));
  ReplicaReport own;
  own.steps = replay_rank(replay.plan, *communicator);
  std::vector<std::vector<StepTimes>> ranks;
  for (ReplicaReport& one : team.gather({own})) ranks.push_back(std::move(one.steps));
  if (team.rank() == 0) report(settings, replay, ranks);
}

}  // namespace

int train_replay(const Settings& settings) {
  std::vector<ChildProcess> children;
  const std::optional<TrainCluster> cluster =
      settings.flag("isolate") ? isolated_cluster(settings, children) : train_cluster(settings);
  if (!cluster) {
    const auto workers = static_cast<int>(count_of(settings, "workers", 1, 512));
    const Replay replay = replay_of(settings, workers);
    report(settings, replay, replay_threads(replay.plan, workers, settings.text("algo")));
    return exit_ok;
  }
  require(!cluster->evaluator, "a replay has nothing to evaluate");
  TrainTeam team(cluster->job);
  replay_as_one_of(team, settings);
  for (ChildProcess& child : children) child.ended_within(cluster->job.timeout);
  return exit_ok;
}

int write_profile(const Settings& settings) {
  require(!settings.given("workload"),
          fmt::format("{} times a model: give --model, not --workload", settings.label("profile")));
  const TrainingPlan plan = plan_of(settings);
  const int workers = static_cast<int>(count_of(settings, "workers", 1, 512));
  const Workload workload = measure_workload(plan, samples_of(settings, plan).train,
                                             per_replica_batch(plan.global_batch, workers),
                                             static_cast<int>(steps_of(settings)));
  write_output(settings.text("profile"), [&](std::ostream& out) { out << to_table(workload); });
  return exit_ok;
}

}  // namespace collbench

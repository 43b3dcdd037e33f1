#include "cli/train_replay.h"

#include <algorithm>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/train_options.h"
#include "cli/train_simulated.h"
#include "core/error.h"
#include "training/replay.h"
#include "training/workload_profile.h"

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

void write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return;
  }
  std::ofstream file(path);
  if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  file << text;
  file.close();
  if (!file) throw Error(fmt::format("could not write '{}'", path));
}

std::int64_t steps_of(const Settings& settings) {
  return settings.given("steps") ? count_of(settings, "steps", 1) : usual_steps;
}

}  // namespace

int train_replay(const Settings& settings) {
  const Workload workload = find_workload(settings.text("workload"));
  const int workers = static_cast<int>(count_of(settings, "workers", 1, 512));
  const std::int64_t batch = worker_batch_of(settings, workers, 1);
  const DataType type = parse_data_type(settings.text("datatype"));
  require(type == DataType::f32, fmt::format("{}: replayed gradients are f32, not {}",
                                             settings.label("datatype"), to_string(type)));
  ReplayPlan plan;
  plan.compute = compute_of(settings, workload, batch);
  plan.tensors = tensors_of(workload);
  const std::string& rule = settings.text("buckets");
  require(rule != "auto", fmt::format("{}: auto needs the costs of a network; give --topo",
                                      settings.label("buckets")));
  plan.buckets = plan_buckets(rule, plan.tensors, size_of(type), {});
  plan.steps = static_cast<int>(steps_of(settings));
  plan.overlap = !settings.flag("no-overlap");
  const auto ranks = replay_threads(plan, workers, settings.text("algo"));
  nlohmann::ordered_json document = {{"workload", workload.name},
                                     {"workers", workers},
                                     {"worker_batch", batch},
                                     {"algorithm", settings.text("algo")},
                                     {"computing", plan.compute.origin},
                                     {"alone_ms", plan.compute.whole().count() * 1e3}};
  std::string table = fmt::format(
      "# {}: {} parameters, {} buckets ({}); {} replicas, batch {} each\n"
      "# computing is waited for: {}; one worker alone takes {}\n# medians of {} steps, ms\n#rank",
      workload.name, workload.parameters(), plan.buckets.size(), rule, workers, batch,
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
  const std::string& json = settings.text("json");
  if (json != "-") std::cout << table << '\n';
  if (!json.empty()) write_file(json, document.dump(1) + '\n');
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
  write_file(settings.text("profile"), to_table(workload));
  return exit_ok;
}

}  // namespace collbench

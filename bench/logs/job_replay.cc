#include "bench/logs/job_replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bench/reports/text.h"
#include "bench/simulated/all_reduce_costs.h"
#include "core/json.h"

namespace collbench {
namespace {

constexpr int element_bytes = 4;  // as workload_of_job() counts them
constexpr const char* recorded_network = "as recorded";

/// Mean transfers by size of the all-reduces of one communicator.
std::map<std::int64_t, Seconds> recorded_transfers(const JobVerdict& verdict, int communicator) {
  std::map<std::int64_t, std::pair<double, double>> sums;  // us, operations
  for (const SizeFigures& row : verdict.sizes) {
    const bool counts = row.communicator == communicator && row.kind == LoggedKind::all_reduce;
    if (!counts || !std::isfinite(row.transfer_us)) continue;
    auto& [us, operations] = sums[row.bytes];
    us += row.transfer_us * static_cast<double>(row.operations);
    operations += static_cast<double>(row.operations);
  }
  std::map<std::int64_t, Seconds> transfers;
  for (const auto& [bytes, sum] : sums) transfers[bytes] = Seconds{sum.first / sum.second * 1e-6};
  return transfers;
}

StepModel model_of(const ReplayedJob& job, int workers) {
  StepModel model;
  model.workers = workers;
  if (job.workload.measured) {
    model.compute = measured_profile(job.workload, 1);
  } else {
    model.compute.layers.resize(job.workload.layers.size());
    model.compute.origin = "not known";
  }
  model.tensors = tensors_of(job.workload);
  model.element_bytes = element_bytes;
  model.buckets = plan_buckets("tensor", model.tensors, element_bytes, {});
  return model;
}

ReplayedStep played(const StepModel& model, std::string network, std::string algorithm) {
  ReplayedStep step{std::move(network),   model.workers,
                    std::move(algorithm), {},
                    model.buckets.size(), simulate_step(model).times};
  for (const Bucket& bucket : model.buckets) step.bytes.count += bucket.count * element_bytes;
  return step;
}

}  // namespace

ReplayedJob replayed_job(const JobLog& job, const JobVerdict& verdict) {
  JobWorkload made = workload_of_job(job);
  ReplayedJob replayed;
  replayed.ranks = job.communicators[static_cast<std::size_t>(made.communicator)].ranks;
  replayed.remarks = std::move(made.remarks);
  replayed.workload = std::move(made.workload);
  const auto transfers = recorded_transfers(verdict, made.communicator);
  for (const std::int64_t bytes : made.bytes) {
    const auto found = transfers.find(bytes);
    if (found == transfers.end()) {
      replayed.transfers.clear();
      break;
    }
    replayed.transfers.push_back(found->second);
  }
  const double spent = verdict.duration_us.empty() ? unknown_time : verdict.duration_us.front();
  if (std::isfinite(spent) && made.steps > 0 && job.communicators.size() == 1) {
    replayed.with_waiting = Seconds{spent * 1e-6 / made.steps};
  }
  return replayed;
}

ReplayedStep replay_as_recorded(const ReplayedJob& job) {
  StepModel model = model_of(job, job.ranks);
  model.all_reduce = job.transfers;
  return played(model, recorded_network, "-");
}

ReplayedStep replay_on(const ReplayedJob& job, const std::string& topology,
                       const std::string& algorithm, int workers,
                       const std::function<void(std::size_t, std::size_t)>& on_bucket) {
  StepModel model = model_of(job, workers);
  AllReduceCosts network(topology, algorithm, workers);
  Bytes largest{0};
  for (const Bucket& bucket : model.buckets) {
    if (on_bucket) on_bucket(model.all_reduce.size(), model.buckets.size());
    const Bytes size{bucket.count * element_bytes};
    model.all_reduce.push_back(network.exact(size));
    largest = std::max(largest, size);
  }
  std::string name = network.played(largest);
  return played(model, topology, name.empty() ? algorithm : std::move(name));
}

std::string replay_table(const std::vector<ReplayedStep>& steps) {
  std::vector<std::vector<std::string>> rows{{"network", "workers", "algorithm", "all-reduces, ms",
                                              "exposed, ms", "step, ms", "step / recorded"}};
  const bool recorded = !steps.empty() && steps.front().network == recorded_network;
  const auto ms = [](Seconds time) { return fmt::format("{:.3f}", time.count() * 1e3); };
  for (const ReplayedStep& step : steps) {
    const double ratio = recorded ? step.times.whole / steps.front().times.whole : 0;
    rows.push_back({step.network, step.workers > 0 ? std::to_string(step.workers) : "-",
                    step.algorithm, ms(step.times.communication), ms(step.times.exposed),
                    ms(step.times.whole), recorded ? fmt::format("{:.3f}", ratio) : "-"});
  }
  std::string text;
  const auto is_left = [](std::size_t column) { return column == 0 || column == 2; };
  for (const std::string& line : aligned_lines(rows, is_left)) text += line + '\n';
  return text;
}

std::string replay_json(const std::vector<ReplayedStep>& steps) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ReplayedStep& step : steps) {
    rows.push_back({{"network", step.network},
                    {"workers", step.workers},
                    {"algorithm", step.algorithm},
                    {"buckets", step.buckets},
                    {"bytes", step.bytes.count},
                    {"communication_ms", step.times.communication.count() * 1e3},
                    {"exposed_ms", step.times.exposed.count() * 1e3},
                    {"step_ms", step.times.whole.count() * 1e3}});
  }
  return json_text(rows, 1) + '\n';
}

}  // namespace collbench

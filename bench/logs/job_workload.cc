#include "bench/logs/job_workload.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/quantile.h"

namespace collbench {
namespace {

// A collective that begins later than this after the one before was not held up by it.
constexpr double pause_us = 20;
constexpr std::size_t longest_step = 4096;

/// The all-reduces of one rank in the order in which it issued them.
using RankRecords = std::vector<const LogRecord*>;

int busiest_communicator(const JobLog& job) {
  std::map<int, double> moved;
  for (const LogRecord& record : job.records) {
    if (record.kind == LoggedKind::all_reduce) {
      moved[record.communicator] += static_cast<double>(record.bytes) *
                                    static_cast<double>(std::max<std::int64_t>(record.count, 1));
    }
  }
  require(!moved.empty(), "no all-reduce in the logs, of which a workload could be made");
  return std::max_element(moved.begin(), moved.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::map<int, RankRecords> by_rank(const JobLog& job, int communicator) {
  std::map<int, RankRecords> ranks;
  for (const LogRecord& record : job.records) {
    const bool counts = record.communicator == communicator &&
                        record.kind == LoggedKind::all_reduce && record.bytes > 0;
    if (counts) ranks[record.rank].push_back(&record);
  }
  return ranks;
}

/// The shortest period of the sizes that at most one in twenty breaks.
std::size_t period_of(const RankRecords& records) {
  const std::size_t n = records.size();
  for (std::size_t period = 1; 2 * period <= n && period <= longest_step; ++period) {
    std::size_t breaks = 0;
    for (std::size_t i = 0; i + period < n && 20 * breaks <= n; ++i) {
      breaks += records[i]->bytes != records[i + period]->bytes ? 1 : 0;
    }
    if (20 * breaks <= n - period) return period;
  }
  return std::min(n, longest_step);
}

/// When the k-th of `records` begins after the one before has ended; NaN without a pause.
double pause_before(const RankRecords& records, std::size_t k) {
  const double before = records[k - 1]->start_us + records[k - 1]->duration_us;
  const double pause = records[k]->start_us - before;
  return pause > pause_us ? pause : unknown_time;
}

/// The rank whose arrivals are most often its own.
const RankRecords& most_telling(const std::map<int, RankRecords>& ranks) {
  const RankRecords* found = &ranks.begin()->second;
  std::size_t most = 0;
  for (const auto& [rank, records] : ranks) {
    std::size_t pauses = 0;
    for (std::size_t k = 1; k < records.size(); ++k) {
      pauses += std::isnan(pause_before(records, k)) ? 0 : 1;
    }
    if (pauses <= most) continue;
    most = pauses;
    found = &records;
  }
  return *found;
}

/// Medians of the time from one arrival to the next by place in the step, where the arrival is the
/// rank's own; NaN where it never is.
std::vector<double> computing_between(const RankRecords& records, std::size_t period) {
  std::vector<std::vector<double>> seen(period);
  for (std::size_t k = 1; k < records.size(); ++k) {
    if (std::isnan(pause_before(records, k))) continue;
    // The optimizer and the next forward pass wait for the end of the last bucket; within a step
    // the backward pass goes on beside the collectives.
    const bool begins_step = k % period == 0;
    const double from = begins_step ? records[k - 1]->start_us + records[k - 1]->duration_us
                                    : records[k - 1]->start_us;
    seen[k % period].push_back(records[k]->start_us - from);
  }
  std::vector<double> medians;
  for (std::vector<double>& values : seen) {
    medians.push_back(values.empty() ? unknown_time : quantile(std::move(values), 0.5));
  }
  return medians;
}

/// Times of the layers from those of the buckets. What cannot be seen, because the bucket was
/// always ready before the one in front of it had ended, counts as the mean of the others.
MeasuredTimes measured_times(const std::vector<double>& between, JobWorkload& made) {
  double sum = 0;
  std::size_t known = 0;
  for (std::size_t k = 1; k < between.size(); ++k) {
    if (std::isnan(between[k])) continue;
    sum += between[k];
    ++known;
  }
  if (known + 1 < between.size()) {
    made.remarks.push_back(fmt::format(
        "the computing before {} of {} buckets cannot be seen, as they waited for the bucket in "
        "front: it counts as the mean of the others",
        between.size() - 1 - known, between.size()));
  }
  const double mean = known > 0 ? sum / static_cast<double>(known) : 0;
  MeasuredTimes times;
  times.batch = 1;
  times.device = "the job's machine";
  const std::size_t buckets = between.size();
  times.layers.resize(buckets);
  for (std::size_t k = 0; k < buckets; ++k) {
    // Forward order is the reverse of that of the buckets.
    LayerTimes& layer = times.layers[buckets - 1 - k];
    const double us = std::isnan(between[k]) ? mean : between[k];
    if (k == 0) {
      times.layers.front().forward = Seconds{(std::isnan(between[0]) ? 0 : between[0]) * 1e-6};
    } else {
      layer.weight = Seconds{us * 1e-6};
    }
  }
  return times;
}

}  // namespace

JobWorkload workload_of_job(const JobLog& job) {
  const int communicator = busiest_communicator(job);
  const std::map<int, RankRecords> ranks = by_rank(job, communicator);
  require(!ranks.empty(), "no all-reduce with a size in the logs");
  const RankRecords& records = most_telling(ranks);
  const std::size_t period = period_of(records);
  JobWorkload made;
  made.communicator = communicator;
  made.steps = static_cast<int>(records.size() / period);
  if (records.size() < 2 * period) {
    made.remarks.push_back("the sizes do not repeat: all of the log counts as one step");
  }
  if (job.communicators.size() > 1) {
    made.remarks.push_back(
        fmt::format("only communicator '{}' is in it",
                    job.communicators[static_cast<std::size_t>(communicator)].name));
  }
  Workload& workload = made.workload;
  workload.name = "job";
  workload.sample = "one step of the job";
  workload.source =
      fmt::format("logs of a job ({} steps seen); elements counted as f32", made.steps);
  for (std::size_t k = period; k-- > 0;) {
    WorkloadLayer& layer = workload.layers.emplace_back();
    layer.name = fmt::format("bucket{}", k);
    layer.kind = "bucket";
    layer.tensors = {std::max<std::int64_t>(records[k]->bytes / 4, 1)};
    made.bytes.insert(made.bytes.begin(), records[k]->bytes);
  }
  const std::vector<double> between = computing_between(records, period);
  const bool timed =
      std::any_of(between.begin(), between.end(), [](double us) { return std::isfinite(us); });
  if (timed) {
    workload.measured = measured_times(between, made);
  } else {
    made.remarks.push_back(
        "no starts of collectives in the logs: the workload has no times, and train --workload "
        "needs "
        "--device");
  }
  return made;
}

}  // namespace collbench

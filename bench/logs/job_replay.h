// A recorded step of a job, played on simulated networks: at other scales, with other algorithms.
//
// Computing and the order of the buckets are the recorded ones, the times of the all-reduces are
// those of the network (bench/simulated/all_reduce_costs.h), and the step is that of training in
// simulation (training/simulated/step.h): buckets overlap with the backward pass.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/logs/job_verdict.h"
#include "bench/logs/job_workload.h"
#include "training/simulated/step.h"

namespace collbench {

/// What is replayed, one bucket for each layer of a job.
struct ReplayedJob {
  Workload workload;
  int ranks = 0;                   // that were recorded; 0: not known
  std::vector<Seconds> transfers;  // recorded, of each bucket, without waiting; empty: not known
  Seconds with_waiting{0};         // recorded, of all buckets of a step and rank 0; 0: not known
  std::vector<std::string> remarks;
};
/// Requires a verdict of `job`. Throws as workload_of_job().
ReplayedJob replayed_job(const JobLog& job, const JobVerdict& verdict);

/// One step, on one network.
struct ReplayedStep {
  std::string network;  // as for --topo; "as recorded"
  int workers = 0;
  std::string algorithm;  // of the largest bucket, as played
  Bytes bytes{0};
  std::size_t buckets = 0;
  StepTimes times;
};
/// With the recorded transfers; the figure to compare others with. Requires transfers.
ReplayedStep replay_as_recorded(const ReplayedJob& job);
/// `on_bucket` hears which is played next, from 0. Throws as AllReduceCosts does.
ReplayedStep replay_on(const ReplayedJob& job, const std::string& topology,
                       const std::string& algorithm, int workers,
                       const std::function<void(std::size_t, std::size_t)>& on_bucket = {});

/// One row for each step; times in milliseconds, and those of the first where it was recorded.
std::string replay_table(const std::vector<ReplayedStep>& steps);
/// A list of objects, {"network", "workers", "algorithm", "buckets", "bytes", "communication_ms",
/// "exposed_ms", "step_ms"}.
std::string replay_json(const std::vector<ReplayedStep>& steps);

}  // namespace collbench

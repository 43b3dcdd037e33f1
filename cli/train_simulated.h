// What a step on a simulated network computes and costs, by the options of `collbench train`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "training/simulated/step.h"

namespace collbench {

/// Samples of a worker's micro-batch, and how long it computes. Throw InvalidArgument naming the
/// option that is wrong.
std::int64_t worker_batch_of(const Settings& settings, int workers, int accumulate);
ComputeProfile compute_of(const Settings& settings, const Workload& workload, std::int64_t batch);
/// That of --device, else the one of a shipped machine that --topo names, else v100.
const ComputeDevice& device_of(const Settings& settings);

/// Throws InvalidArgument naming the option that is wrong.
StepCosts costs_of(const Settings& settings);

/// Plans buckets by --buckets and prices their all-reduces on --topo: sets model.buckets and
/// model.all_reduce from what else the model has. Returns the algorithm of each bucket. Throws
/// InvalidArgument for a rule, a network or an algorithm that does not fit.
std::vector<std::string> price_buckets(const Settings& settings, StepModel& model);

/// "3 buckets (ddp), all-reduce ring, Simple".
std::string describe_buckets(const Settings& settings, const std::vector<std::string>& algorithms);

}  // namespace collbench

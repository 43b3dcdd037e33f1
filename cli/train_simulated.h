// What a step on a simulated network computes and costs, by the options of `collbench train`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "training/simulated/step.h"

namespace collbench {

/// --algo, or auto: each size is given the algorithm that suits it.
std::string simulated_algorithm(const Settings& settings);

/// Samples of a worker's micro-batch, without options those that the workload's times are of, or
/// 32; and how long it computes; --step-time is of a step of so many. Throw InvalidArgument naming
/// the option that is wrong.
std::int64_t worker_batch_of(const Settings& settings, const Workload& workload, int workers,
                             int accumulate);
ComputeProfile compute_of(const Settings& settings, const Workload& workload, std::int64_t batch,
                          int workers, int micro_batches = 1);
/// That of --device, else the one that the machine of --topo has, else v100. Throws InvalidArgument
/// for machines with GPUs or TPUs of which no roofline is known.
const ComputeDevice& device_of(const Settings& settings, int workers);

/// Throws InvalidArgument for a --strategy whose steps have no all-reduce.
void require_all_reduce(const Settings& settings);

/// Throws InvalidArgument naming the option that is wrong.
StepCosts costs_of(const Settings& settings);

/// Plans buckets by --buckets and prices their collectives on --topo: sets model.buckets,
/// model.all_reduce and model.all_gather from what else the model has. Returns the algorithm of
/// each bucket, for one that lies between priced sizes that of the nearest. Throws InvalidArgument
/// for a rule, a network or an algorithm that does not fit.
std::vector<std::string> price_buckets(const Settings& settings, StepModel& model);

/// "3 buckets (ddp), all-reduce ring, Simple for 2; direct for 1".
std::string describe_buckets(const Settings& settings, const std::vector<std::string>& algorithms);

}  // namespace collbench

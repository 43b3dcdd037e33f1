// `collbench train --workload`: the steps of a large model on a simulated network.
#pragma once

#include <cstdint>
#include <span>

#include "cli/settings.h"
#include "training/simulated/compute.h"

namespace collbench {

/// The options that only steps of workloads have.
std::span<const OptionRow> workload_option_rows();

/// Samples of a worker's micro-batch, and how long it computes. Throw InvalidArgument naming the
/// option that is wrong.
std::int64_t worker_batch_of(const Settings& settings, int workers, int accumulate);
ComputeProfile compute_of(const Settings& settings, const Workload& workload, std::int64_t batch);
/// That of --device, else the one of a shipped machine that --topo names, else v100.
const ComputeDevice& device_of(const Settings& settings);

/// Whether the settings ask for a workload, for the list of them, or for a table of a model.
bool asks_for_workload(const Settings& settings);

/// Plays or lists what the settings ask for; returns the exit code. Throws InvalidArgument naming
/// the option that is wrong.
int train_workload(const Settings& settings);

}  // namespace collbench

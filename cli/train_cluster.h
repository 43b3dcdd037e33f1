// Who this process of `collbench train` is among several, and who said so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "transports/world/joined_world.h"
#include "transports/world/worker_process.h"

namespace collbench {

struct TrainCluster {
  std::string source;  // "--hosts", "TF_CONFIG", "torchrun", "Open MPI", "Slurm"
  JoinSpec job;        // unused by an evaluator
  bool evaluator = false;
};

/// As launched_here(): nothing if this is the only worker. Throws as it does.
std::optional<TrainCluster> train_cluster(const Settings& settings);

/// Starts ranks 1 and up of as many as --workers on this machine, as processes with this one's
/// command line; this one is rank 0. The processes end with the last handle.
TrainCluster isolated_cluster(const Settings& settings, std::vector<ChildProcess>& children);

}  // namespace collbench

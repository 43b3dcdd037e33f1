// The strategies that keep replicas equal: as threads of this process, or this process as one of
// several workers.
#pragma once

#include "cli/settings.h"

namespace collbench {

// All return the exit code. Replicas are threads, unless --backend names one whose ranks are
// processes: then this is one of them if a launcher or --hosts says so, else it starts the others.

int train_mirrored(const Settings& settings);
/// The slice of a TPU pod: a torus of the workers, where their number makes one.
int train_tpu(const Settings& settings);
/// One device holds the variables: gradients are summed there, and nowhere else.
int train_central(const Settings& settings);
/// `multi-worker-mirrored`: joins the others (or starts them, with --isolate), compares plans,
/// trains, and reports on rank 0. Throws TransportError on every worker if one is lost or
/// disagrees.
int train_workers(const Settings& settings);

}  // namespace collbench

// `multi-worker-mirrored`: this process is one of several workers, each with one replica.
#pragma once

#include "cli/settings.h"

namespace collbench {

/// Joins the others (or starts them, with --isolate), compares plans, trains, and reports on rank
/// 0. Returns the exit code. Throws TransportError on every worker if one is lost or disagrees.
int train_workers(const Settings& settings);

/// For strategies of threads whose --backend has processes as ranks: as one of them if a launcher
/// or --hosts says so, else starts the others.
int train_in_processes(const Settings& settings);

}  // namespace collbench

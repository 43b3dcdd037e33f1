// `parameter-server`: asynchronous workers and servers, as threads of this process, or this process
// as one task of many: chief, worker, ps or evaluator.
#pragma once

#include "cli/settings.h"

namespace collbench {

/// With TF_CONFIG this process is the task that it names; with --isolate it is the chief and starts
/// the others; else all are threads. Returns the exit code. Throws TransportError if a server or
/// the chief is missing or lost.
int train_servers(const Settings& settings);

}  // namespace collbench

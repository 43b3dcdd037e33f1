// --isolate of `collbench train`: this command starts its other processes on this machine.
#pragma once

#include <string>
#include <vector>

#include "transports/world/worker_process.h"

namespace collbench {

/// Ports of the loopback interface that were free a moment ago, all different.
std::vector<int> free_ports(int count);

/// A new secret for this process and those that it starts.
void share_new_token();

/// This process's own command without --isolate, with variables ("NAME=VALUE") of its own.
ChildProcess isolated_child(std::vector<std::string> variables);

}  // namespace collbench

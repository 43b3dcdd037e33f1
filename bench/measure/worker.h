// The life of a worker process: join the team that started it, run the cases it is told, end with
// it.
#pragma once

#include <string>
#include <vector>

namespace collbench {

/// The hidden subcommand `worker SOCKET RANK`, RANK being "-" where a launcher says which one it
/// is. The secret of the team is in the environment, as COLLBENCH_WORKER_TOKEN. Returns the exit
/// code; ends the process at once if the team goes away while a case runs.
int worker_main(const std::vector<std::string>& args);

}  // namespace collbench

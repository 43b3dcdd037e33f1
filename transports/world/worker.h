// The life of a rank that is a process of its own: join the world that started it, carry out the
// orders that come, end with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "transports/world/rank_context.h"
#include "transports/world/world_spec.h"

namespace collbench {

/// Does what a text orders (Work::order), as one rank, and returns the answer. What it throws
/// becomes the failure of this rank.
using OrderHandler =
    std::function<std::string(RankContext&, const WorldSpec&, const std::string& order)>;

/// The hidden subcommand `worker SOCKET RANK`, RANK being "-" where a launcher says which one it
/// is. The secret of the world is in the environment, as COLLBENCH_WORKER_TOKEN. Returns the exit
/// code; ends the process at once if the world goes away while an order is carried out.
int worker_main(const std::vector<std::string>& args, const OrderHandler& handler);

}  // namespace collbench

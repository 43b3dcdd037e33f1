#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "core/error.h"

namespace collbench {

Schedule parameter_server(int ranks, int servers) {
  require(servers >= 1 && servers <= ranks,
          "parameter-server: servers must be 1 to " + std::to_string(ranks) +
              " (the number of ranks), not " + std::to_string(servers));
  // Server i is rank floor(i n / k): spread evenly, so that every host has its share.
  const auto owner = [ranks, servers](int shard) {
    return static_cast<Rank>(static_cast<std::int64_t>(shard) * ranks / servers);
  };
  const Phases phases = sharded_phases(ranks, servers, owner);
  return sequence("parameter-server", {phases.reduce_scatter, phases.all_gather});
}

}  // namespace collbench

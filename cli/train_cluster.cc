#include "cli/train_cluster.h"

#include <fmt/format.h>

#include "cli/isolated_tasks.h"
#include "cli/remote.h"
#include "cli/train_options.h"
#include "core/error.h"

namespace collbench {
namespace {

TrainCluster cluster_of(const LaunchedWorker& worker, const Settings& settings) {
  if (worker.evaluator) return {worker.source, {}, true};
  TrainCluster cluster{worker.source, join_spec_of(worker, settings), false};
  // --isolate tells its processes by torchrun's variables, and overrides itself for them.
  if (settings.given("isolate")) cluster.source = "--isolate";
  return cluster;
}

}  // namespace

std::optional<TrainCluster> train_cluster(const Settings& settings) {
  const std::optional<LaunchedWorker> worker = launched_here(settings);
  if (!worker) return std::nullopt;
  return cluster_of(*worker, settings);
}

TrainCluster isolated_cluster(const Settings& settings, std::vector<ChildProcess>& children) {
  require(!launched_here(settings),
          "--isolate starts the workers itself; --hosts, TF_CONFIG or a "
          "launcher has already named them");
  const auto workers = static_cast<int>(count_of(settings, "workers", 1, 512));
  const int port = free_ports(1)[0];
  share_new_token();
  for (int rank = 1; rank < workers; ++rank) {
    children.push_back(
        isolated_child({fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", workers),
                        "MASTER_ADDR=127.0.0.1", fmt::format("MASTER_PORT={}", port - 1)}));
  }
  const LaunchedWorker self{"--isolate", 0, workers, {}, fmt::format("127.0.0.1:{}", port), false};
  return cluster_of(self, settings);
}

}  // namespace collbench

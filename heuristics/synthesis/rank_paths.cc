#include "heuristics/synthesis/rank_paths.h"

#include <algorithm>

namespace collbench {

RankPaths::RankPaths(const Topology& topology) : ranks_(topology.hosts()) {
  std::vector<LinkId> route;
  const auto enters_rank = [&](LinkId link) {
    return topology.links()[link].to < topology.hosts();
  };
  for (Host from = 0; from < ranks_; ++from) {
    for (Host to = 0; to < ranks_; ++to) {
      first_.push_back(links_.size());
      if (from == to) continue;
      topology.route(from, to, route);
      const bool is_direct = std::none_of(route.begin(), route.end() - 1, enters_rank);
      if (is_direct) links_.insert(links_.end(), route.begin(), route.end());
    }
  }
  first_.push_back(links_.size());
}

}  // namespace collbench

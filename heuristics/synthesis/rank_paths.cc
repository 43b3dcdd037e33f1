#include "heuristics/synthesis/rank_paths.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

namespace collbench {
namespace {

/// The last link of the cheapest way from `source` to each vertex, through switches only
/// (Dijkstra 1959); -1 where there is none.
std::vector<LinkId> cheapest_ways(const Topology& topology,
                                  const std::vector<std::vector<LinkId>>& out,
                                  std::span<const double> prices, Host source) {
  using Cost = std::pair<double, int>;  // and links
  const Cost unknown{std::numeric_limits<double>::infinity(), 0};
  std::vector<Cost> cost(out.size(), unknown);
  std::vector<LinkId> into(out.size(), -1);
  std::priority_queue<std::pair<Cost, Vertex>, std::vector<std::pair<Cost, Vertex>>, std::greater<>>
      open;
  cost[source] = {0, 0};
  open.emplace(cost[source], source);
  while (!open.empty()) {
    const auto [known, at] = open.top();
    open.pop();
    if (known > cost[at] || (at < topology.hosts() && at != source)) continue;
    for (const LinkId link : out[at]) {
      const Vertex to = topology.links()[link].to;
      const Cost longer{known.first + prices[link], known.second + 1};
      if (longer >= cost[to]) continue;
      cost[to] = longer;
      into[to] = link;
      open.emplace(longer, to);
    }
  }
  return into;
}

}  // namespace

RankPaths::RankPaths(const Topology& topology) : ranks_(topology.hosts()) {
  std::vector<LinkId> route;
  const auto enters_rank = [&](LinkId link) {
    return topology.links()[link].to < topology.hosts();
  };
  for (Host from = 0; from < ranks_; ++from) {
    for (Host to = 0; to < ranks_; ++to) {
      first_.push_back(links_.size());
      if (from == to) continue;
      if (const std::vector<Way>* ways = topology.ways(from, to)) {
        shares_.resize(links_.size(), 1);
        for (const auto& [link, share] : link_shares(*ways)) {
          links_.push_back(link);
          shares_.push_back(share);
        }
        continue;
      }
      topology.route(from, to, route);
      const bool is_direct = std::none_of(route.begin(), route.end() - 1, enters_rank);
      if (is_direct) links_.insert(links_.end(), route.begin(), route.end());
    }
  }
  first_.push_back(links_.size());
  if (!shares_.empty()) shares_.resize(links_.size(), 1);
}

RankPaths::RankPaths(const Topology& topology, std::span<const double> prices)
    : ranks_(topology.hosts()) {
  std::vector<std::vector<LinkId>> out(topology.vertices());
  for (LinkId link = 0; link < std::ssize(topology.links()); ++link) {
    out[topology.links()[link].from].push_back(link);
  }
  for (Host from = 0; from < ranks_; ++from) {
    const std::vector<LinkId> into = cheapest_ways(topology, out, prices, from);
    for (Host to = 0; to < ranks_; ++to) {
      first_.push_back(links_.size());
      if (from == to) continue;
      for (LinkId link = into[to]; link >= 0; link = into[topology.links()[link].from]) {
        links_.push_back(link);
      }
      std::reverse(links_.begin() + static_cast<std::ptrdiff_t>(first_.back()), links_.end());
    }
  }
  first_.push_back(links_.size());
}

}  // namespace collbench

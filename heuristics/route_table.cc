#include "heuristics/route_table.h"

namespace collbench {
namespace {

constexpr std::size_t most_ranks_known = 512;

}  // namespace

RouteTable::RouteTable(const Topology& topology, std::span<const Host> placement, bool for_several)
    : topology_(topology), placement_(placement) {
  const std::size_t ranks = placement.size();
  if (for_several && ranks <= most_ranks_known) known_.resize(ranks * ranks);
}

const RouteTable::Route& RouteTable::find(Rank from, Rank to) {
  Route& route =
      known_.empty() ? last_ : known_[static_cast<std::size_t>(from) * placement_.size() + to];
  if (known_.empty() || route.hops == 0) look_up(from, to, route);
  return route;
}

void RouteTable::look_up(Rank from, Rank to, Route& found) {
  if (const auto* ways = topology_.ways(placement_[from], placement_[to])) {
    spread(*ways, found);
    return;
  }
  topology_.route(placement_[from], placement_[to], route_);
  const RouteSummary summary = summarize(topology_, route_);
  found.first = static_cast<std::uint32_t>(links_.size());
  found.hops = static_cast<std::int32_t>(route_.size());
  found.level = summary.level;
  found.latency = summary.latency.count();
  found.is_spread = false;
  links_.insert(links_.end(), route_.begin(), route_.end());
}

void RouteTable::spread(const std::vector<Way>& ways, Route& found) {
  const RouteSummary summary = summarize(topology_, ways);
  const auto shares = link_shares(ways);
  found = {static_cast<std::uint32_t>(links_.size()), static_cast<std::int32_t>(shares.size()),
           summary.level, summary.latency.count(), true};
  shares_.resize(links_.size());
  for (const auto& [link, share] : shares) {
    links_.push_back(link);
    shares_.push_back(share);
  }
}

}  // namespace collbench

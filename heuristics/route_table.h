// The routes between ranks on a machine, looked up once however many schedules ask.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/schedule.h"
#include "topologies/topology.h"

namespace collbench {

/// One thread's own. Remembers routes until forget(), or if it is to serve several schedules of up
/// to 512 ranks, whose pairs are few enough, for good.
class RouteTable {
 public:
  struct Route {
    std::uint32_t first = 0;  // of what links() gives
    std::int32_t hops = 0;
    std::int32_t level = 0;  // the highest of its links
    double latency = 0;      // of its links, seconds
    bool is_spread = false;  // over several ways, whose links these are
  };

  /// placement[r] is the host of rank r; both are referred to.
  RouteTable(const Topology& topology, std::span<const Host> placement, bool for_several);

  /// Throws InvalidArgument if no path leads there. Requires ranks that differ. Valid until the
  /// next.
  const Route& find(Rank from, Rank to);
  /// Valid until the next find().
  std::span<const LinkId> links(const Route& route) const {
    return {links_.data() + route.first, static_cast<std::size_t>(route.hops)};
  }
  /// The share of a message that crosses each of them, where it is spread.
  std::span<const double> shares(const Route& route) const {
    return {shares_.data() + route.first, static_cast<std::size_t>(route.hops)};
  }
  /// Routes found before are not asked about again.
  void forget() {
    if (!known_.empty()) return;
    links_.clear();
    shares_.clear();
  }

 private:
  void look_up(Rank from, Rank to, Route& found);
  void spread(const std::vector<Way>& ways, Route& found);

  const Topology& topology_;
  std::span<const Host> placement_;
  std::vector<Route> known_;    // by pair of ranks, without hops if not asked for yet; or empty
  Route last_;                  // where none is remembered
  std::vector<LinkId> links_;   // of all routes, one after the other
  std::vector<double> shares_;  // as many, up to the last route that is spread
  std::vector<LinkId> route_;
};

}  // namespace collbench

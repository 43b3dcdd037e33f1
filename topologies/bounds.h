// Upper bounds of a network's performance, independent of any algorithm.
#pragma once

#include <algorithm>
#include <optional>

#include "topologies/topology.h"

namespace collbench {

/// Whether the links of a route lead from each vertex to the next; looks at the routes between
/// neighbours in the order of hosts. Platforms that state routes (SimGrid) need not say what their
/// links join, or one link may serve both directions: what is counted from ends then means nothing.
bool links_join_routes(const Topology& topology);

/// Most that the first half of the hosts can send to the second half at once, and the second to the
/// first.
struct Bisection {
  Bandwidth forth;
  Bandwidth back;
  Bandwidth lesser() const { return std::min(forth, back); }
};
/// Over any paths; a grid is cut across the axis whose middle lets the least through, other
/// networks in the order of hosts. On reached bandwidths: by maximum flow (Goldberg, Tarjan 1988)
/// where there are switches, otherwise the sum of the links across. Empty for a single host, beyond
/// `most_links`, and unless links_join_routes().
std::optional<Bisection> bisection(const Topology& topology, std::size_t most_links = 200'000);

/// A ring of all hosts in their order: what every host gets when all send to the next at once, and
/// the longest latency of such a step. A ring all-reduce of M bytes on n hosts takes at least
/// 2 (n-1) (latency + M / n / rate).
struct RingBound {
  Bandwidth rate;
  Seconds latency{0};
};
/// Empty for a single host. O(hosts * length of a route).
std::optional<RingBound> ring_bound(const Topology& topology);

}  // namespace collbench

// Upper bounds of a network's performance, independent of any algorithm.
#pragma once

#include <optional>

#include "topologies/topology.h"

namespace collbench {

/// Most that the first half of the hosts can send to the second half at once, over any paths; a
/// grid is cut across the axis whose middle lets the least through, other networks in the order of
/// hosts. On reached bandwidths: by maximum flow (Goldberg, Tarjan 1988) where there are switches,
/// otherwise the sum of the links across. Empty for a single host, and beyond `most_links`.
std::optional<Bandwidth> bisection(const Topology& topology, std::size_t most_links = 200'000);

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

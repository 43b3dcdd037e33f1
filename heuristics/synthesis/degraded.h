// Networks with slow or dead links: what a schedule has to be made for when one of them fails.
#pragma once

#include <string>

#include "topologies/topology.h"

namespace collbench {

/// The network with what `list` says: "link A>B:0.5, host 3:0.7". A and B are names of vertices
/// (g0, s_nv0; spaces as they are in "host 3>switch 0"); both directions reach that share of their
/// rate, and 0 takes them out. Of a host all its links do. Routes are searched anew (graph() in
/// topologies/networks/networks.h). Throws InvalidArgument for names, shares outside 0 to 1, or a
/// network that falls apart.
Topology degraded(const Topology& topology, const std::string& list);

/// The same for one link and the one that leads back, taken out.
Topology without_cable(const Topology& topology, LinkId link);

}  // namespace collbench

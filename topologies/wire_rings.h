// Rings over the cables that join hosts directly, as in a DGX-1 or between eight MI300X: a ring in
// the order of the ranks uses one cable of each host and goes round others where there is none.
#pragma once

#include <vector>

#include "topologies/topology.h"

namespace collbench {

/// Rings through the first `ranks` hosts, each an order of them that begins with host 0, such that
/// no lane of a cable carries two in the same direction. As many as are found: all that the cables
/// of a host allow on full meshes of 3, 5 and from 7 hosts on and on the cube mesh of a DGX-1.
/// Empty where hosts are joined by switches, and for fewer than 3 or more than 16 ranks.
std::vector<std::vector<Host>> wire_rings(const Topology& topology, int ranks);

}  // namespace collbench

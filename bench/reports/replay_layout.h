// Where the picture of a network places its hosts and switches.
#pragma once

#include "bench/reports/replay.h"
#include "topologies/topology.h"

namespace collbench {

/// Places the vertices of a replay by its links, so it may come from a file. A grid without
/// switches is a grid, its first two axes across and down. Hosts under switches are a row with gaps
/// between nodes, each switch above the middle of what hangs from it. Other hosts without switches
/// stand in a circle.
void place_vertices(Replay& replay, const Layout& layout);

}  // namespace collbench

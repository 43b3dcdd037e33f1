// The ways that the messages of trees should take where routes can be chosen.
#pragma once

#include <vector>

#include "heuristics/synthesis/tree_packing.h"
#include "topologies/topology.h"

namespace collbench {

/// How the messages of each pair of ranks are spread over the ways that links offer, so that the
/// fullest link carries all trees in the least time. Ways lead through switches, never through
/// ranks. Pairs that no tree needs have none.
///
/// A flow of many commodities, one for each pair, solved by column generation: prices of links say
/// which ways are cheapest, a linear program of pairs and links weighs them (Ford, Fulkerson 1958).
Ways message_ways(const Topology& topology, const std::vector<PackedTree>& trees);

}  // namespace collbench

// Packed trees as an ordinary schedule: equal chunks follow each other along the trees.
//
// A tree of weight w carries about w * chunks of them. Every hop of every chunk gets a round: the
// first after the rank has what it passes on in which all links on the way still have room, older
// chunks first. A round lets a link pass what it can in the time that the slowest well-used link
// needs for one chunk. So messages never queue, and links that are shared equally among messages
// are shared as the trees' weights want it; reductions, broadcasts and chunks overlap. Every sum is
// made on the way to one root and copied from there, so all ranks end with the same bits.
#pragma once

#include <string>

#include "algorithms/schedule.h"
#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// Plays `chunks` chunks, or the next multiple of the ranks for all-gather and reduce-scatter, whose
/// rank r has the r-th n-th of all (algorithms/collective.h). Chunks take turns on `tracks` tracks,
/// so that the latency of one overlaps with the bytes of others. Requires 1 <= tracks <= chunks <=
/// 2^20, and a packing for this topology. Memory: 24 bytes per message of the schedule.
Schedule packed_schedule(const Topology& topology, const TreePacking& packing, int chunks,
                         int tracks, const std::string& name);

/// Sum of the depths of the deepest tree's reduction and broadcast.
int longest_way(const TreePacking& packing);

}  // namespace collbench

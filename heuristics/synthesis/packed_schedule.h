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
#include "core/units.h"
#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// How finely packed trees are cut.
struct Chunking {
  int chunks = 1;  // of all trees, 1 to 2^20
  int room = 1;    // chunks that the slowest well-used link passes in a round
};

/// What suits a vector of `bytes`: about sqrt(way * T / latency) rounds, where T is the time of the
/// fullest link, so that filling the trees costs as much as the latencies of the rounds. Messages
/// that pass several links compete where ranks are not in step, and then rounds have more room.
Chunking chunking_for(const Topology& topology, const TreePacking& packing, Bytes bytes);

/// For all-gather and reduce-scatter chunks are rounded up to a multiple of the ranks, and rank r
/// has the r-th n-th of them (algorithms/collective.h). Requires a packing for this topology.
/// Memory: 24 bytes per message of the schedule.
Schedule packed_schedule(const Topology& topology, const TreePacking& packing,
                         const Chunking& chunking, const std::string& name);

/// Sum of the depths of the deepest tree's reduction and broadcast.
int longest_way(const TreePacking& packing);

}  // namespace collbench

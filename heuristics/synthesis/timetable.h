// Which round each hop of each chunk of packed trees is in.
#pragma once

#include <cstdint>
#include <vector>

#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// One message of one chunk.
struct TimedHop {
  int round = 0;
  int chunk = 0;
  Rank from = 0;
  Rank to = 0;
  bool reduces = false;
};

/// A chunk of the vector and the tree that it follows.
struct ChunkOnTree {
  int chunk = 0;
  int tree = 0;
};

/// Hops by round, those of older chunks first; `order` lists the chunks from the oldest on. In a
/// round the slowest well-used link passes `room` chunks, and others as many as their capacity has.
std::vector<TimedHop> timetable(const Topology& topology, const TreePacking& packing,
                                const std::vector<ChunkOnTree>& order, int room);

/// The capacity, in bytes per second, of the slowest link that is busy for at least half of the
/// time of the fullest one.
double slowest_well_used(const Topology& topology, const TreePacking& packing);

}  // namespace collbench

// How finely packed trees are cut, and what their rounds then take.
//
// In the first and last rounds pieces fill and leave the trees, so that only some edges carry one.
// What these rounds take is counted from the links that they load: where a reduction fills the
// links and then a broadcast does, as through one switch, pieces gain nothing.
#pragma once

#include <array>
#include <vector>

#include "core/units.h"
#include "heuristics/synthesis/tree_packing.h"
#include "topologies/machine.h"

namespace collbench {

struct Pipelining {
  int pieces = 1;  // of every tree's share: a multiple of `tracks`
  int tracks = 1;
  Seconds time{0};  // what it is thought to take
};

/// What a message costs beyond its links by one protocol; vectors as those of Protocol
/// (topologies/machine.h), by the level of the message's way.
struct MessageTimes {
  using ByLevel = std::array<Seconds, MessageGaps::levels>;
  ByLevel latency{};
  ByLevel gap{};                                     // from one message of a rank to its next
  std::array<Bandwidth, MessageGaps::levels> cap{};  // of one message, on the wire; 0: none
  double wire_factor = 1;                            // bytes on the wire per byte
  bool operator==(const MessageTimes&) const = default;
};
/// By every protocol of a machine, of which that is used which takes least; empty: links alone.
using MessageLadder = std::vector<MessageTimes>;

/// What suits a vector of `bytes`: filling the trees takes as long as their hops, so pieces are
/// small, but not so small that a round takes no longer than its messages need beyond their bytes.
/// Tracks: `tracks`, or what suits if that is 0.
Pipelining pipelining_for(const Topology& topology, const TreePacking& packing, Bytes bytes,
                          const MessageLadder& ladder = {}, int tracks = 0);

/// What the rounds of one piece of each tree take, one after the other, over the time of the
/// fullest link of all: 1 where the same links are full in every round.
double rounds_of_one_piece(const Topology& topology, const TreePacking& packing);

}  // namespace collbench

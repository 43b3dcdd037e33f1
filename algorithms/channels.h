// Channels as NCCL has them: one all-reduce played several times at once, on shares of the vector,
// by ranks in different orders, so that every adapter of a node carries its part.
//
// Ranks of a node are consecutive. A flat ring or tree leaves a node through one rank; in channel c
// of C the members of every node are rotated by c * node / C places, and another rank is the one
// that talks to other nodes.
// Source: the channels that NCCL prints (NCCL_DEBUG=INFO), which on a DGX are such rotations.
#pragma once

#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

struct Channels {
  int count = 1;
  int node = 1;  // ranks of a node
};

/// All ranks, node by node, each node's members rotated as in `channel`. Requires, as the functions
/// below, that nodes divide the ranks, 1 <= count <= node, and 0 <= channel < count.
std::vector<Rank> channel_order(const Channels& channels, int ranks, int channel);

/// One ring per channel, each on an equal share of the vector; the channels are tracks.
Schedule ring_channels(const Channels& channels, const Schedule& ring);

/// One ring per order of the ranks, each on an equal share of the vector; the orders are tracks.
/// Requires that each holds every rank once.
Schedule rings_in_orders(const std::vector<std::vector<Rank>>& orders, const Schedule& ring);

/// Two trees per channel, on equal shares: a double tree over the nodes, whose vertices are the
/// first ranks of the nodes in the order of the channel; the others hang below them in a chain.
Schedule double_tree_channels(const Channels& channels, int ranks, int segments);

}  // namespace collbench

// Channels as NCCL has them: one all-reduce played several times at once, on shares of the vector,
// by ranks in different orders, so that every adapter of a node carries its part.
//
// Ranks of a node are consecutive. A flat ring or tree leaves a node through one rank; channel c of
// C begins in every node with the member c * node / C = k and goes on to k+1, k-1, k+2, k-2, ...,
// so that another rank is the one that talks to other nodes, and no two channels pass between two
// members in the same direction where their number is even: each wire of a full mesh (xGMI) carries
// one channel each way. Through a switch all orders are alike; NCCL's are rotations.
// Source: Walecki's paths through a complete graph, as in Alspach, The wonderful Walecki
// construction, Bulletin of the ICA 52, 2008.
#pragma once

#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

struct Channels {
  int count = 1;
  int node = 1;  // ranks of a node
};

/// All ranks, node by node, each node's members in the order of `channel`. Requires, as the
/// functions below, that nodes divide the ranks, 1 <= count <= node, and 0 <= channel < count.
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

#include "algorithms/channels.h"

#include <cassert>
#include <utility>

#include "algorithms/combinators.h"
#include "algorithms/tree.h"

namespace collbench {

std::vector<Rank> channel_order(const Channels& channels, int ranks, int channel) {
  const int node = channels.node;
  assert(node >= 1 && ranks % node == 0 && channels.count <= node);
  const int turn = channel * node / channels.count;
  std::vector<Rank> order;
  for (Rank first = 0; first < ranks; first += node) {
    for (int i = 0; i < node; ++i) {
      const int aside = i % 2 == 1 ? (i + 1) / 2 : node - i / 2;
      order.push_back(first + (turn + aside) % node);
    }
  }
  return order;
}

Schedule rings_in_orders(const std::vector<std::vector<Rank>>& orders, const Schedule& ring) {
  const int count = static_cast<int>(orders.size());
  std::vector<Schedule> parts;
  for (int c = 0; c < count; ++c) {
    parts.push_back(embed(ring, ring.ranks(), count * ring.chunks(),
                          orders[static_cast<std::size_t>(c)], {c * ring.chunks(), ring.chunks()}));
  }
  return tracks(ring.name(), std::move(parts));
}

Schedule ring_channels(const Channels& channels, const Schedule& ring) {
  std::vector<std::vector<Rank>> orders;
  for (int c = 0; c < channels.count; ++c) {
    orders.push_back(channel_order(channels, ring.ranks(), c));
  }
  return rings_in_orders(orders, ring);
}

Schedule double_tree_channels(const Channels& channels, int ranks, int segments) {
  std::vector<std::vector<Rank>> trees;
  for (int c = 0; c < channels.count; ++c) {
    const std::vector<Rank> order = channel_order(channels, ranks, c);
    for (const std::vector<Rank>& over_nodes : double_tree_parents(ranks / channels.node)) {
      std::vector<Rank> parents(static_cast<std::size_t>(ranks));
      for (int i = 0; i < ranks; ++i) {
        const int above = over_nodes[static_cast<std::size_t>(i / channels.node)];
        const bool first = i % channels.node == 0;
        Rank& parent = parents[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
        if (first) {
          parent = above < 0 ? -1 : order[static_cast<std::size_t>(above * channels.node)];
        } else {
          parent = order[static_cast<std::size_t>(i - 1)];
        }
      }
      trees.push_back(std::move(parents));
    }
  }
  return tree_all_reduce("double-tree", trees, segments);
}

}  // namespace collbench

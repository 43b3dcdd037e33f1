// The ways between ranks that messages of a schedule can take: one per ordered pair, the route of
// the topology, unless it would lead through another rank.
#pragma once

#include <span>
#include <vector>

#include "topologies/topology.h"

namespace collbench {

class RankPaths {
 public:
  /// Every host is a rank. O(ranks^2) routes.
  explicit RankPaths(const Topology& topology);

  int ranks() const { return ranks_; }
  /// The links of the way from one rank to another; empty if there is none.
  std::span<const LinkId> links(int from, int to) const {
    const std::size_t pair = static_cast<std::size_t>(from) * ranks_ + to;
    return std::span<const LinkId>(links_).subspan(first_[pair], first_[pair + 1] - first_[pair]);
  }

 private:
  int ranks_;
  std::vector<std::size_t> first_;  // by pair, and the end
  std::vector<LinkId> links_;
};

}  // namespace collbench

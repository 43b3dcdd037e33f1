// The ways between ranks that messages of a schedule can take: for each ordered pair those of the
// topology, unless they would lead through another rank.
#pragma once

#include <span>
#include <vector>

#include "topologies/topology.h"

namespace collbench {

class RankPaths {
 public:
  /// Every host is a rank. O(ranks^2) routes.
  explicit RankPaths(const Topology& topology);
  /// The cheapest way of each pair instead, where a message over a link costs prices[link], at
  /// least 0; of equally cheap ones one of the fewest links.
  RankPaths(const Topology& topology, std::span<const double> prices);

  int ranks() const { return ranks_; }
  /// The links of the way from one rank to another, or of all its ways; empty if there is none.
  std::span<const LinkId> links(int from, int to) const {
    const std::size_t pair = pair_of(from, to);
    return std::span<const LinkId>(links_).subspan(first_[pair], first_[pair + 1] - first_[pair]);
  }
  /// Calls use(link, share of the message that crosses it) for each of them.
  template <class Use>
  void for_each_link(int from, int to, Use use) const {
    const std::size_t pair = pair_of(from, to);
    for (std::size_t i = first_[pair]; i < first_[pair + 1]; ++i) {
      use(links_[i], shares_.empty() ? 1.0 : shares_[i]);
    }
  }

 private:
  std::size_t pair_of(int from, int to) const {
    return static_cast<std::size_t>(from) * ranks_ + to;
  }

  int ranks_;
  std::vector<std::size_t> first_;  // by pair, and the end
  std::vector<LinkId> links_;
  std::vector<double> shares_;  // as many, or empty: all are 1
};

}  // namespace collbench

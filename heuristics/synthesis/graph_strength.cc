#include "heuristics/synthesis/graph_strength.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include <boost/pending/disjoint_sets.hpp>

#include "heuristics/synthesis/max_flow.h"

namespace collbench {
namespace {

/// What enters all groups over their number less one.
struct Ratio {
  WideInteger entering = 0;
  WideInteger joints = 1;
};

/// For a ratio e / j, the groups S of least sum of F(S) = j * (capacity leaving S) - e. A vector
/// x with x(S) <= F(S) for every set, each entry as large as those before it allow, has that sum,
/// and its tight sets are the groups.
template <class Amount>
class GroupSearch {
 public:
  explicit GroupSearch(const CapacityGraph& graph)
      : graph_(graph), flow_(graph.ranks + 2), of_ranks_(graph.ranks) {
    for (const CapacityArc& arc : graph.arcs) flow_.add_arc(arc.from, arc.to);
    for (int r = 0; r < graph.ranks; ++r) {
      of_ranks_[r].member = flow_.add_arc(source(), r);
      of_ranks_[r].other = flow_.add_arc(r, sink());
    }
  }

  /// The smallest first, each ascending.
  std::vector<std::vector<Vertex>> groups_below(const Ratio& ratio) {
    boost::disjoint_sets_with_storage<> joined(graph_.ranks);
    std::vector<Amount> x;
    for (int rank = 0; rank < graph_.ranks; ++rank) {
      x.push_back(largest_entry(rank, x, ratio));
      const std::vector<bool> tight = flow_.reached_from(source());
      for (int r = 0; r < rank; ++r) {
        if (tight[r]) joined.union_set(r, rank);
      }
    }
    std::vector<std::vector<Vertex>> groups;
    std::vector<int> number(graph_.ranks, -1);
    for (int r = 0; r < graph_.ranks; ++r) {
      int& group = number[joined.find_set(r)];
      if (group < 0) {
        group = static_cast<int>(groups.size());
        groups.emplace_back();
      }
      groups[group].push_back(r);
    }
    std::ranges::stable_sort(groups, {}, [](const auto& group) { return group.size(); });
    return groups;
  }

 private:
  struct RankArcs {
    int member = 0;  // from the source
    int other = 0;   // to the sink
  };
  int source() const { return graph_.ranks; }
  int sink() const { return graph_.ranks + 1; }

  /// The least of F(S) - x(S) over sets of `rank` and ranks before it: a minimum cut, in which a
  /// member pays for its cables to later ranks and gets its own entry back.
  Amount largest_entry(int rank, const std::vector<Amount>& x, const Ratio& ratio) {
    const auto joints = static_cast<Amount>(ratio.joints);
    std::vector<Amount> price(static_cast<std::size_t>(rank) + 1, 0);
    for (std::size_t a = 0; a < graph_.arcs.size(); ++a) {
      const CapacityArc& arc = graph_.arcs[a];
      const Amount capacity = joints * arc.capacity;
      const bool is_among = arc.from <= rank && arc.to <= rank;
      flow_.set_capacity(static_cast<int>(a), is_among ? capacity : 0);
      if (arc.from <= rank && arc.to > rank) price[arc.from] += capacity;
    }
    for (int r = 0; r < rank; ++r) price[r] -= x[r];
    Amount all_others = 0;  // what joining all costs
    Amount given = 0;       // to members, less what others do without
    for (int r = 0; r < graph_.ranks; ++r) {
      const Amount paid = r < rank ? price[r] : 0;
      flow_.set_capacity(of_ranks_[r].other, std::max<Amount>(paid, 0));
      flow_.set_capacity(of_ranks_[r].member, std::max<Amount>(-paid, 0));
      all_others += std::max<Amount>(paid, 0);
      given += std::min<Amount>(paid, 0);
    }
    flow_.set_capacity(of_ranks_[rank].member, all_others + 1);
    const Amount cut = flow_.solve(source(), sink(), all_others + 1);
    return price[rank] - static_cast<Amount>(ratio.entering) + given + cut;
  }

  const CapacityGraph& graph_;
  MaxFlow<Amount> flow_;
  std::vector<RankArcs> of_ranks_;
};

Ratio ratio_of(const CapacityGraph& graph, const std::vector<std::vector<Vertex>>& groups) {
  return {graph.entering(groups), static_cast<WideInteger>(groups.size() - 1)};
}

template <class Amount>
std::vector<std::vector<Vertex>> search_groups(const CapacityGraph& graph,
                                               std::vector<std::vector<Vertex>> best) {
  GroupSearch<Amount> search(graph);
  for (Ratio least = ratio_of(graph, best);;) {
    std::vector<std::vector<Vertex>> groups = search.groups_below(least);
    if (groups.size() < 2) return best;
    const Ratio found = ratio_of(graph, groups);
    if (found.entering * least.joints >= least.entering * found.joints) return best;
    least = found;
    best = std::move(groups);
  }
}

}  // namespace

std::vector<std::vector<Vertex>> weakest_groups(const CapacityGraph& graph,
                                                std::vector<std::vector<Vertex>> known) {
  assert(graph.ranks >= 2 && graph.vertices == graph.ranks && graph.is_bidirectional());
  constexpr int sums = 16;  // of entries and prices, each at most twice all capacity for each rank
  return graph.fits_words(sums) ? search_groups<std::int64_t>(graph, std::move(known))
                                : search_groups<WideInteger>(graph, std::move(known));
}

}  // namespace collbench

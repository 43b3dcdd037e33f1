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
///
/// A flow shows that x is not too large: ranks with an entry send that much, over cables of j times
/// their capacity, to ranks without one and to those whose entry is negative. It is kept from
/// entry to entry, since the next one changes it near its rank only.
template <class Amount>
class GroupSearch {
 public:
  explicit GroupSearch(const CapacityGraph& graph) : graph_(graph), flow_(graph.ranks + 1) {
    for (const CapacityArc& arc : graph.arcs) flow_.add_arc(arc.from, arc.to);
    for (int r = 0; r < graph.ranks; ++r) flow_.add_arc(r, sink());
  }

  /// The smallest first, each ascending.
  std::vector<std::vector<Vertex>> groups_below(const Ratio& ratio) {
    start(ratio);
    boost::disjoint_sets_with_storage<> joined(graph_.ranks);
    for (int rank = 0; rank < graph_.ranks; ++rank) {
      const std::vector<bool> tight = add_entry(rank, static_cast<Amount>(ratio.entering));
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
  int sink() const { return graph_.ranks; }
  int end_of(int rank) const { return static_cast<int>(graph_.arcs.size()) + rank; }

  void start(const Ratio& ratio) {
    all_ = 0;
    for (std::size_t a = 0; a < graph_.arcs.size(); ++a) {
      const Amount capacity = static_cast<Amount>(ratio.joints) * graph_.arcs[a].capacity;
      flow_.set_capacity(static_cast<int>(a), capacity);
      all_ += capacity;
    }
    for (int r = 0; r < graph_.ranks; ++r) flow_.set_capacity(end_of(r), all_);
    flow_.clear();
  }

  /// Gives `rank` the least of F(S) - x(S) over sets of it and ranks before it: what it can send
  /// beside all that they send, which ends in it no more, less `e`. Returns the smallest such set.
  std::vector<bool> add_entry(int rank, Amount e) {
    const Amount ended = flow_.flow(end_of(rank));
    flow_.set_arc(end_of(rank), 0, 0);
    const Amount sent = flow_.add_flow(rank, sink(), all_ + ended) - ended;
    std::vector<bool> tight = flow_.reached_from(rank);
    flow_.add_flow(sink(), rank,
                   std::clamp<Amount>(sent, 0, e));  // takes back what it may not send
    flow_.set_arc(end_of(rank), std::max<Amount>(e - sent, 0), std::max<Amount>(-sent, 0));
    return tight;
  }

  const CapacityGraph& graph_;
  MaxFlow<Amount> flow_;
  Amount all_ = 0;  // what all cables carry
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

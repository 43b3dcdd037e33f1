#include "heuristics/synthesis/bound.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/synthesis/max_flow.h"

namespace collbench {
namespace {

constexpr WideInteger bytes_of_gigabyte = 1'000'000'000;

struct CutSize {
  std::int64_t ranks = 0;
  std::int64_t leaving = 0;
};

CutSize measure(const CapacityGraph& graph, const std::vector<bool>& members) {
  CutSize size;
  for (int r = 0; r < graph.ranks; ++r) size.ranks += members[r] ? 1 : 0;
  for (const CapacityArc& arc : graph.arcs) {
    if (members[arc.from] && !members[arc.to]) size.leaving += arc.capacity;
  }
  return size;
}

void require_ranks(const CapacityGraph& graph) {
  require(graph.ranks >= 2, "a bound needs at least 2 ranks: one has all its data already");
}

[[noreturn]] void refuse_apart(const std::vector<bool>& members, int ranks) {
  std::vector<int> inside, outside;
  for (int r = 0; r < ranks; ++r) (members[r] ? inside : outside).push_back(r);
  const auto named = [](const std::vector<int>& list) {
    return list.size() == 1 ? fmt::format("rank {}", list.front())
                            : fmt::format("the {} ranks from {} on", list.size(), list.front());
  };
  throw InvalidArgument(fmt::format("the network is cut: no link leads from {} to {}",
                                    named(inside), named(outside)));
}

/// Flows of shards to one rank after another, with all arcs turned round, so that the search for
/// ways begins at the rank and stays near it. Ranks that all shards have reached count as having
/// them: sets of vertices that lack such a rank are known to let enough out, so that only sets with
/// all of these are in question, and the ways from them are short.
template <class Amount>
class ShardFlow {
 public:
  explicit ShardFlow(const CapacityGraph& graph)
      : ranks_(graph.ranks), start_(graph.vertices), flow_(graph.vertices + 1) {
    for (const CapacityArc& arc : graph.arcs) flow_.add_arc(arc.to, arc.from);
    first_shard_ = static_cast<int>(graph.arcs.size());
    for (int r = 0; r < ranks_; ++r) flow_.add_arc(r, start_);
  }

  void set_capacity(int arc, Amount capacity) { flow_.set_capacity(arc, capacity); }

  /// Ranks from `first` on begin with `shard` each; those before have all.
  void set_shards(Amount shard, int first) {
    shard_ = shard;
    for (int r = 0; r < ranks_; ++r)
      flow_.set_capacity(first_shard_ + r, r < first ? all() : shard);
  }
  void give_all(int rank) { flow_.set_capacity(first_shard_ + rank, all()); }

  /// Whether what all ranks begin with together can flow to this one.
  bool reaches(int rank) { return flow_.solve(rank, start_, wanted()) == wanted(); }
  /// And no more than that.
  bool just_reaches(int rank) { return flow_.solve(rank, start_, all()) == wanted(); }

  /// If that does not reach it: the smallest set of vertices that lets too little out.
  std::vector<bool> members(int vertices) const {
    std::vector<bool> members = flow_.not_leading_to(start_);
    members.flip();
    members.resize(static_cast<std::size_t>(vertices));
    return members;
  }
  /// If no more than that reaches it: the smallest set around it that more cannot enter.
  std::vector<bool> around(int rank) const { return flow_.reached_from(rank); }

 private:
  Amount wanted() const { return shard_ * ranks_; }
  Amount all() const { return wanted() + 1; }  // as good as any amount

  int ranks_;
  int start_;
  int first_shard_ = 0;  // arc
  Amount shard_ = 0;
  MaxFlow<Amount> flow_;
};

/// The search for the worst ratio of ranks to capacity, lambda = ranks / leaving.
template <class Amount>
class RatioSearch {
 public:
  explicit RatioSearch(const CapacityGraph& graph)
      : graph_(graph), flow_(graph), members_(graph.vertices, false) {}

  void run() {
    start();
    load(0);
    // What holds at one ratio holds at every higher one, so each sink is looked at once.
    for (int sink = 0; sink < graph_.ranks; ++sink) {
      while (!flow_.reaches(sink)) {
        raise(flow_.members(graph_.vertices));
        load(sink);
      }
      flow_.give_all(sink);
    }
  }

  /// Empty unless the smallest binding sets around the ranks are disjoint.
  std::vector<std::vector<Vertex>> groups() {
    load(0);
    std::vector<std::vector<Vertex>> found;
    std::vector<int> group_of(graph_.vertices, -1);
    for (int sink = 0; sink < graph_.ranks; flow_.give_all(sink++)) {
      if (group_of[sink] >= 0) continue;
      if (!flow_.just_reaches(sink)) return {};  // all its sets have a rank before it
      const std::vector<bool> inside = flow_.around(sink);
      const int number = static_cast<int>(found.size());
      found.emplace_back();
      for (Vertex v = 0; v < graph_.vertices; ++v) {
        if (!inside[v]) continue;
        if (group_of[v] >= 0) return {};
        group_of[v] = number;
        found.back().push_back(v);
      }
    }
    return found.size() > 1 ? found : std::vector<std::vector<Vertex>>{};
  }

  const CutSize& worst() const { return worst_; }
  const std::vector<bool>& members() const { return members_; }

 private:
  // From the worst cut around a single rank.
  void start() {
    std::vector<std::int64_t> out(graph_.vertices, 0), in(graph_.vertices, 0);
    for (const CapacityArc& arc : graph_.arcs) {
      out[arc.from] += arc.capacity;
      in[arc.to] += arc.capacity;
    }
    const auto least = [&](const std::vector<std::int64_t>& sums) {
      return std::min_element(sums.begin(), sums.begin() + graph_.ranks) - sums.begin();
    };
    std::vector<bool> alone(graph_.vertices, false);
    alone[least(out)] = true;
    raise(alone);
    std::vector<bool> others(graph_.vertices, true);
    others[least(in)] = false;
    raise(others);
  }

  void raise(const std::vector<bool>& members) {
    const CutSize size = measure(graph_, members);
    if (size.leaving == 0) refuse_apart(members, graph_.ranks);
    const bool is_worse = static_cast<WideInteger>(size.ranks) * worst_.leaving >
                          static_cast<WideInteger>(worst_.ranks) * size.leaving;
    if (!is_worse) return;
    worst_ = size;
    members_ = members;
  }

  /// For sinks from `first` on.
  void load(int first) {
    int arc = 0;
    for (const CapacityArc& a : graph_.arcs) {
      flow_.set_capacity(arc++, static_cast<Amount>(a.capacity) * worst_.ranks);
    }
    flow_.set_shards(worst_.leaving, first);
  }

  const CapacityGraph& graph_;
  ShardFlow<Amount> flow_;
  CutSize worst_{0, 1};
  std::vector<bool> members_;
};

template <class Amount>
ThroughputBound search_ratio(const CapacityGraph& graph) {
  RatioSearch<Amount> search(graph);
  search.run();
  const CutSize worst = search.worst();
  const WideInteger rate = static_cast<WideInteger>(graph.ranks) * graph.unit * worst.leaving;
  return {reduced(worst.ranks * bytes_of_gigabyte, rate), shorter_side(search.members(), false),
          static_cast<std::int64_t>(reduced(worst.ranks, worst.leaving).denominator)};
}

/// Whether whole numbers of trees, floor(capacity * numerator / denominator) of them on every link,
/// bring `trees` from every rank to every other.
bool carries(const CapacityGraph& graph, ShardFlow<std::int64_t>& flow, int trees,
             std::int64_t numerator, std::int64_t denominator) {
  int number = 0;
  for (const CapacityArc& arc : graph.arcs) {
    const WideInteger whole = static_cast<WideInteger>(arc.capacity) * numerator / denominator;
    const WideInteger most = static_cast<WideInteger>(trees) * graph.ranks;
    flow.set_capacity(number++, static_cast<std::int64_t>(std::min(whole, most)));
  }
  flow.set_shards(trees, 0);
  for (int sink = 0; sink < graph.ranks; flow.give_all(sink++)) {
    if (!flow.reaches(sink)) return false;
  }
  return true;
}

/// Whether the numbers that carries() is asked about stay below 2^62: the slowest link alone has to
/// carry all trees at the largest of them.
void require_words_for(const CapacityGraph& graph, int trees) {
  constexpr double most_of_words = 4.6e18;
  const auto [slow, fast] = std::ranges::minmax_element(graph.arcs, {}, &CapacityArc::capacity);
  const double times = static_cast<double>(fast->capacity) / static_cast<double>(slow->capacity);
  require(2.0 * trees * graph.ranks * times < most_of_words,
          fmt::format("the rates of links, {:.3g} times apart, are too unlike to count {} trees of "
                      "each root on them",
                      times, trees));
}

}  // namespace

BindingCut shorter_side(const std::vector<bool>& members, bool entering) {
  const auto inside = std::count(members.begin(), members.end(), true);
  const bool keep = 2 * inside <= static_cast<std::ptrdiff_t>(members.size());
  BindingCut cut{{}, keep ? entering : !entering};
  for (std::size_t v = 0; v < members.size(); ++v) {
    if (members[v] == keep) cut.members.push_back(static_cast<Vertex>(v));
  }
  return cut;
}

ThroughputBound all_gather_bound(const CapacityGraph& graph) {
  require_ranks(graph);
  return graph.fits_words() ? search_ratio<std::int64_t>(graph) : search_ratio<WideInteger>(graph);
}

std::vector<std::vector<Vertex>> binding_groups(const CapacityGraph& graph) {
  require_ranks(graph);
  const auto find = [](auto&& search) {
    search.run();
    return search.groups();
  };
  return graph.fits_words() ? find(RatioSearch<std::int64_t>(graph))
                            : find(RatioSearch<WideInteger>(graph));
}

ThroughputBound reduce_scatter_bound(const CapacityGraph& graph) {
  ThroughputBound bound = all_gather_bound(graph.reversed());
  bound.cut.entering = !bound.cut.entering;
  return bound;
}

ThroughputBound all_gather_bound(const CapacityGraph& graph, int trees) {
  require(trees >= 1 && trees <= 1024,
          fmt::format("trees per root must be from 1 to 1024, not {}", trees));
  ThroughputBound bound = all_gather_bound(graph);
  require_words_for(graph, trees);
  ShardFlow<std::int64_t> flow(graph);
  // What a tree takes, numerator / denominator seconds, is a multiple of 1 / capacity of some link;
  // for every capacity the least that carries them.
  std::set<std::int64_t> capacities;
  for (const CapacityArc& arc : graph.arcs) capacities.insert(arc.capacity);
  Fraction best{0, 0};
  for (const std::int64_t capacity : capacities) {
    const auto works = [&](std::int64_t multiple) {
      return carries(graph, flow, trees, multiple, capacity);
    };
    const auto not_better = [&](std::int64_t multiple) {
      return best.denominator != 0 &&
             multiple * best.denominator >= best.numerator * static_cast<WideInteger>(capacity);
    };
    std::int64_t most = 1;
    while (!not_better(most) && !works(most)) most *= 2;
    std::int64_t least = most / 2;  // does not work
    while (most - least > 1) {
      const std::int64_t middle = least + (most - least) / 2;
      (not_better(middle) || works(middle) ? most : least) = middle;
    }
    if (!not_better(most)) best = {most, capacity};
  }
  const WideInteger parts = static_cast<WideInteger>(graph.ranks) * trees * graph.unit;
  const Fraction by_trees = reduced(best.numerator * bytes_of_gigabyte, best.denominator * parts);
  const Fraction& by_cut = bound.seconds_per_gigabyte;
  const bool is_proven_by_cut =
      by_trees.numerator == by_cut.numerator && by_trees.denominator == by_cut.denominator;
  if (!is_proven_by_cut) bound.cut = {};
  bound.seconds_per_gigabyte = by_trees;
  bound.trees_per_root = trees;
  return bound;
}

ThroughputBound weakest_allreduce_bound(const CapacityGraph& graph) {
  require_ranks(graph);
  // What flows between rank 0 and any other, either way: the least over all ranks is that over the
  // flows between each and the ranks before it, since a cut that parts some ranks from rank 0 parts
  // the first of them from all before it. Those ranks are near, so that such a flow is short.
  struct Direction {
    MaxFlow<std::int64_t> flow;
    bool entering;
  };
  const int before = graph.vertices;
  const int first_before = static_cast<int>(graph.arcs.size());
  const std::int64_t all = graph.sum_of_capacities();
  const auto flow_to_those_before = [&](const CapacityGraph& arcs) {
    MaxFlow<std::int64_t> flow(graph.vertices + 1);
    for (const CapacityArc& arc : arcs.arcs) {
      flow.set_capacity(flow.add_arc(arc.from, arc.to), arc.capacity);
    }
    for (int rank = 0; rank < graph.ranks; ++rank) flow.add_arc(rank, before);
    return flow;
  };
  std::array<Direction, 2> directions{
      {{flow_to_those_before(graph.reversed()), true}, {flow_to_those_before(graph), false}}};
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  BindingCut cut;
  for (int rank = 1; rank < graph.ranks; ++rank) {
    for (auto& [flow, entering] : directions) {
      flow.set_capacity(first_before + rank - 1, all);
      const std::int64_t through = flow.solve(rank, before, least);
      if (through >= least) continue;
      least = through;
      std::vector<bool> members = flow.reached_from(rank);
      members.pop_back();  // `before` is no vertex of the graph
      if (least == 0) {
        if (entering) members.flip();
        refuse_apart(members, graph.ranks);
      }
      cut = shorter_side(members, entering);
    }
  }
  return {reduced(bytes_of_gigabyte, static_cast<WideInteger>(graph.unit) * least), cut, 0};
}

std::string to_string(const std::vector<Vertex>& vertices, const Topology& topology) {
  std::string text;
  for (std::size_t i = 0; i < vertices.size();) {
    std::size_t last = i;
    while (last + 1 < vertices.size() && vertices[last + 1] == vertices[last] + 1 &&
           vertices[last + 1] < topology.hosts()) {
      ++last;
    }
    if (!text.empty()) text += ' ';
    text += topology.vertex_name(vertices[i]);
    if (last > i) text += (last == i + 1 ? " " : "-") + topology.vertex_name(vertices[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace collbench

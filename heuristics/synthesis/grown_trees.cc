#include "heuristics/synthesis/grown_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"

namespace collbench {
namespace {

constexpr int first_count = 64;
constexpr double first_steepness = 10;
constexpr double later_steepness[] = {30, 100, 300, 1000, 1000};
constexpr double alike_cost = 0.02;  // costs that differ by less are taken for equal

/// The ways that messages over an edge of a tree take, of a collective.
class EdgeWays {
 public:
  EdgeWays(const Topology& topology, CollectiveKind goal) : paths_(topology), goal_(goal) {}

  /// Of both directions, whatever the collective: a tree that is given another root turns edges.
  bool are_there(Rank a, Rank b) const {
    return !paths_.links(a, b).empty() && !paths_.links(b, a).empty();
  }

  /// Calls visit(links, whether they lead away from the root).
  template <class Visit>
  void each(Rank parent, Rank child, Visit visit) const {
    if (goal_ != CollectiveKind::all_gather) visit(paths_.links(child, parent), false);
    if (goal_ != CollectiveKind::reduce_scatter) visit(paths_.links(parent, child), true);
  }

  int ranks() const { return paths_.ranks(); }
  CollectiveKind goal() const { return goal_; }

 private:
  RankPaths paths_;
  CollectiveKind goal_;
};

/// What edges cost. Their ways are cut in the middle: the half on a rank's side is the same to many
/// others, and is summed once for all of them.
class HalfWays {
 public:
  explicit HalfWays(const EdgeWays& ways) : ranks_(ways.ranks()) {
    std::vector<LinkId> near, far;  // of the parent
    sides_.resize(static_cast<std::size_t>(ranks_) * ranks_);
    for (Rank parent = 0; parent < ranks_; ++parent) {
      for (Rank child = 0; child < ranks_; ++child) {
        if (parent == child || !ways.are_there(parent, child)) continue;
        near.clear();
        far.clear();
        ways.each(parent, child, [&](std::span<const LinkId> links, bool away) {
          const auto middle = links.size() / 2;
          const auto first = links.first(middle), last = links.subspan(middle);
          (away ? near : far).insert((away ? near : far).end(), first.begin(), first.end());
          (away ? far : near).insert((away ? far : near).end(), last.begin(), last.end());
        });
        sides_[pair(parent, child)] = {number_of(near), number_of(far)};
      }
    }
  }

  void set_prices(const std::vector<double>& price_of_link) {
    costs_.clear();
    for (const std::vector<LinkId>& half : halves_) {
      double cost = 0;
      for (const LinkId link : half) cost += price_of_link[link];
      costs_.push_back(cost);
    }
  }

  double operator()(Rank parent, Rank child) const {
    const Sides& sides = sides_[pair(parent, child)];
    if (sides.near < 0) return std::numeric_limits<double>::infinity();
    return costs_[sides.near] + costs_[sides.far];
  }

  /// Marks the halves that a link is in, for crosses().
  void look_at(LinkId link) {
    marked_.clear();
    for (const std::vector<LinkId>& half : halves_) {
      marked_.push_back(std::ranges::find(half, link) != half.end());
    }
  }
  bool crosses(Rank parent, Rank child) const {
    const Sides& sides = sides_[pair(parent, child)];
    return marked_[sides.near] || marked_[sides.far];
  }

 private:
  struct Sides {
    int near = -1, far = -1;  // halves
  };

  std::size_t pair(Rank parent, Rank child) const {
    return static_cast<std::size_t>(parent) * ranks_ + child;
  }

  int number_of(const std::vector<LinkId>& half) {
    const auto [place, is_new] = numbers_.try_emplace(half, static_cast<int>(halves_.size()));
    if (is_new) halves_.push_back(half);
    return place->second;
  }

  int ranks_;
  std::vector<Sides> sides_;  // by pair()
  std::map<std::vector<LinkId>, int> numbers_;
  std::vector<std::vector<LinkId>> halves_;
  std::vector<double> costs_;  // by half
  std::vector<char> marked_;   // by half
};

class TreeGrower {
 public:
  TreeGrower(const Topology& topology, CollectiveKind goal, double target)
      : ways_(topology, goal),
        costs_(ways_),
        ranks_(topology.hosts()),
        has_equal_roots_(goal != CollectiveKind::all_reduce),
        target_(target) {
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      capacity_.push_back(topology.capacity(static_cast<LinkId>(l)));
    }
    fill_.assign(capacity_.size(), 0);
    price_.assign(capacity_.size(), 0);
  }

  /// Ranks of one tree each, if each roots an equal share; else 1.
  int least_count() const { return has_equal_roots_ ? ranks_ : 1; }

  /// Whether edges that lead both ways join all ranks.
  bool joins_all() const {
    std::vector<bool> joined(static_cast<std::size_t>(ranks_), false);
    std::vector<Rank> order{0};
    joined[0] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (Rank r = 0; r < ranks_; ++r) {
        if (joined[r] || !ways_.are_there(order[i], r)) continue;
        joined[r] = true;
        order.push_back(r);
      }
    }
    return std::ssize(order) == ranks_;
  }

  /// Relieves full links until none is fuller than `enough`.
  std::vector<PackedTree> grow(int count, double enough) {
    std::vector<std::vector<Rank>> trees(static_cast<std::size_t>(count));
    std::fill(fill_.begin(), fill_.end(), 0.0);
    steepness_ = first_steepness;
    weight_ = 1.0 / count;
    for (int i = 0; i < count; ++i) {
      // As full as if all trees were like those so far.
      set_prices(static_cast<double>(i + 1) / count);
      trees[static_cast<std::size_t>(i)] = grown_from(has_equal_roots_ ? i % ranks_ : start_of(i));
      load(trees[static_cast<std::size_t>(i)], 1);
    }
    for (const double steeper : later_steepness) {
      steepness_ = steeper;
      int replaced = 0;
      for (int i = 0; i < count; ++i) {
        if (replace(trees[static_cast<std::size_t>(i)], i + replaced)) ++replaced;
      }
    }
    relieve(trees, enough);
    std::vector<PackedTree> packed;
    for (std::vector<Rank>& parents : trees) {
      packed.push_back(tree_along(ways_.goal(), std::move(parents), weight_));
    }
    std::ranges::stable_sort(packed, {}, &PackedTree::root);
    return packed;
  }

 private:
  // Spread over the ranks, by a prime.
  Rank start_of(int turn) const { return static_cast<Rank>(std::int64_t{turn} * 7919 % ranks_); }

  bool replace(std::vector<Rank>& tree, int turn) {
    const double fullest = *std::ranges::max_element(fill_);
    const double before = crowding(fill_, fullest);
    load(tree, -1);
    set_prices(1);
    const Rank root = top_of(tree);
    std::vector<Rank> other = grown_from(has_equal_roots_ ? root : start_of(turn));
    load(other, 1);
    if (crowding(fill_, fullest) < before) {
      tree = std::move(other);
      return true;
    }
    load(other, -1);
    load(tree, 1);
    return false;
  }

  void set_prices(double done) {
    const double fullest = *std::max_element(fill_.begin(), fill_.end());
    for (std::size_t l = 0; l < price_.size(); ++l) {
      price_[l] = (std::exp(steepness_ * (fill_[l] - fullest) / done) + 1e-9) / capacity_[l];
    }
  }

  double crowding(const std::vector<double>& fill, double fullest) const {
    double sum = 0;
    for (const double f : fill) sum += std::exp(steepness_ * (f - fullest));
    return sum;
  }

  std::vector<Rank> grown_from(Rank start) {
    costs_.set_prices(price_);
    const auto by_depth_alone = [](Rank, Rank) { return 0.0; };
    std::vector<Rank> parents =
        cheapest_spanning_tree(ranks_, costs_, start, alike_cost, by_depth_alone);
    return has_equal_roots_ ? with_root(std::move(parents), start) : parents;
  }

  void load(const std::vector<Rank>& parents, int sign) {
    for (Rank r = 0; r < ranks_; ++r) {
      if (parents[r] >= 0) load(parents[r], r, sign);
    }
  }

  void load(Rank parent, Rank child, int sign) {
    ways_.each(parent, child, [&](std::span<const LinkId> links, bool) {
      for (const LinkId link : links) {
        fill_[link] += sign * weight_ / (capacity_[link] * target_);
      }
    });
  }

  /// Exchanges single edges for others while that relieves the fullest link: a grown tree does not
  /// see what its own edges load.
  void relieve(std::vector<std::vector<Rank>>& trees, double enough) {
    std::size_t turn = 0;
    for (;;) {
      const auto fullest = std::ranges::max_element(fill_);
      if (*fullest <= enough) return;
      set_prices(1);
      costs_.set_prices(price_);
      costs_.look_at(static_cast<LinkId>(fullest - fill_.begin()));
      std::size_t tried = 0;
      while (tried < trees.size() && !relieve(trees[turn++ % trees.size()])) ++tried;
      if (tried == trees.size()) return;
    }
  }

  bool relieve(std::vector<Rank>& tree) {
    for (Rank r = 0; r < ranks_; ++r) {
      if (tree[r] >= 0 && costs_.crosses(tree[r], r) && exchange(tree, r)) return true;
    }
    return false;
  }

  /// Joins what is below the edge to `child` by the cheapest other edge.
  bool exchange(std::vector<Rank>& tree, Rank child) {
    const Rank parent = tree[child];
    std::vector<Rank> below, others;
    split(tree, child, below, others);
    const std::vector<int> depth = depths(tree);
    Rank from = -1, to = -1;
    double least = std::numeric_limits<double>::infinity();
    for (const Rank a : others) {
      for (const Rank b : below) {
        if (a == parent && b == child) continue;
        const double cost = costs_(a, b);
        const bool is_nearer =
            from >= 0 && depth[a] < depth[from] && cost < least * (1 + alike_cost);
        if (cost >= least * (1 - alike_cost) && !is_nearer) continue;
        least = cost;
        from = a;
        to = b;
      }
    }
    if (from < 0) return false;
    // What is below hangs from `to` then, whose way up to `child` is turned round.
    std::vector<std::pair<Rank, Rank>> before{{parent, child}}, after{{from, to}};
    for (Rank at = to; at != child; at = tree[at]) {
      before.emplace_back(tree[at], at);
      after.emplace_back(at, tree[at]);
    }
    if (!relieves(before, after)) return false;
    for (const auto& [above, below_it] : after) tree[below_it] = above;
    return true;
  }

  /// Loads the edges `after` instead of those `before`, unless links are then as crowded.
  bool relieves(const std::vector<std::pair<Rank, Rank>>& before,
                const std::vector<std::pair<Rank, Rank>>& after) {
    std::vector<LinkId> changed;
    for (const auto* edges : {&before, &after}) {
      for (const auto& [parent, child] : *edges) {
        ways_.each(parent, child, [&](std::span<const LinkId> links, bool) {
          changed.insert(changed.end(), links.begin(), links.end());
        });
      }
    }
    std::ranges::sort(changed);
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    const auto fills = [&] {
      std::vector<double> fill;
      for (const LinkId link : changed) fill.push_back(fill_[link]);
      return fill;
    };
    const auto exchange = [&](int sign) {
      for (const auto& [parent, child] : before) load(parent, child, -sign);
      for (const auto& [parent, child] : after) load(parent, child, sign);
    };
    const std::vector<double> old = fills();
    exchange(1);
    const double fullest = *std::ranges::max_element(old);
    if (crowding(fills(), fullest) < crowding(old, fullest)) return true;
    exchange(-1);
    return false;
  }

  void split(const std::vector<Rank>& tree, Rank top, std::vector<Rank>& below,
             std::vector<Rank>& others) const {
    enum class Place { unknown, under, other };
    std::vector<Place> place(tree.size(), Place::unknown);
    std::vector<Rank> way;
    for (Rank r = 0; r < ranks_; ++r) {
      Rank at = r;
      while (at >= 0 && at != top && place[at] == Place::unknown) {
        way.push_back(at);
        at = tree[at];
      }
      const bool is_below = at >= 0 && (at == top || place[at] == Place::under);
      for (const Rank on : way) place[on] = is_below ? Place::under : Place::other;
      way.clear();
      (is_below ? below : others).push_back(r);
    }
  }

  EdgeWays ways_;
  HalfWays costs_;
  int ranks_;
  bool has_equal_roots_;
  double target_;
  double steepness_ = 0;
  double weight_ = 0;
  std::vector<double> capacity_;  // by link
  std::vector<double> fill_;      // of the trees so far, of what it carries in the target time
  std::vector<double> price_;     // per byte
};

}  // namespace

TreePacking grown_trees(const Topology& topology, CollectiveKind goal, double target,
                        double tolerance, int most) {
  TreePacking best{goal, topology.hosts(), {}, 0};
  TreeGrower grower(topology, goal, target);
  if (!grower.joins_all()) return best;
  const int least = grower.least_count();
  const int first = std::max(least, std::min(first_count, most) / least * least);
  for (int count = first; count <= most; count *= 2) {
    std::vector<PackedTree> trees = grower.grow(count, 1 + tolerance);
    const double time = seconds_per_byte(topology, trees);
    if (best.trees.empty() || time < best.seconds_per_byte * (1 - tolerance)) {
      best.trees = std::move(trees);
      best.seconds_per_byte = time;
    }
    if (time <= target * (1 + tolerance)) break;
  }
  return best;
}

}  // namespace collbench

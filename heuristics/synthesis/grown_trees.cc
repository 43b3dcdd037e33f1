#include "heuristics/synthesis/grown_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"

namespace collbench {
namespace {

constexpr int first_count = 64;
constexpr double first_steepness = 10;
constexpr double later_steepness[] = {30, 100, 300, 1000, 1000};
constexpr double alike_cost = 0.02;  // costs that differ by less are taken for equal

/// What ways between two ranks cost in both directions. Each is cut in the middle: the half on a
/// rank's side is the same to many others, and is summed once for all of them.
class HalfWays {
 public:
  explicit HalfWays(const RankPaths& paths) : ranks_(paths.ranks()) {
    std::map<std::vector<LinkId>, int> known;
    std::vector<LinkId> half;
    sides_.resize(static_cast<std::size_t>(ranks_) * ranks_);
    for (Rank a = 0; a < ranks_; ++a) {
      for (Rank b = 0; b < ranks_; ++b) {
        const auto there = paths.links(a, b);
        const auto back = paths.links(b, a);
        if (there.empty() || back.empty()) continue;
        const auto first = there.first(there.size() - there.size() / 2);
        const auto last = back.last(back.size() / 2);
        half.assign(first.begin(), first.end());
        half.insert(half.end(), last.begin(), last.end());
        const auto [place, is_new] = known.try_emplace(half, static_cast<int>(halves_.size()));
        if (is_new) halves_.push_back(half);
        sides_[pair(a, b)].near = sides_[pair(b, a)].far = place->second;
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

  double operator()(Rank a, Rank b) const {
    const Sides& sides = sides_[pair(a, b)];
    if (sides.near < 0) return std::numeric_limits<double>::infinity();
    return costs_[sides.near] + costs_[sides.far];
  }

 private:
  struct Sides {
    int near = -1, far = -1;  // halves
  };

  std::size_t pair(Rank a, Rank b) const { return static_cast<std::size_t>(a) * ranks_ + b; }

  int ranks_;
  std::vector<Sides> sides_;  // by ordered pair
  std::vector<std::vector<LinkId>> halves_;
  std::vector<double> costs_;  // by half
};

class TreeGrower {
 public:
  TreeGrower(const Topology& topology, double target)

      : paths_(topology), ways_(paths_), ranks_(topology.hosts()), target_(target) {
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      capacity_.push_back(topology.capacity(static_cast<LinkId>(l)));
    }
    fill_.assign(capacity_.size(), 0);
    price_.assign(capacity_.size(), 0);
  }

  /// Whether ranks that reach each other both ways join all.
  bool joins_all() const {
    std::vector<bool> joined(static_cast<std::size_t>(ranks_), false);
    std::vector<Rank> order{0};
    joined[0] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (Rank r = 0; r < ranks_; ++r) {
        if (joined[r] || paths_.links(order[i], r).empty() || paths_.links(r, order[i]).empty()) {
          continue;
        }
        joined[r] = true;
        order.push_back(r);
      }
    }
    return std::ssize(order) == ranks_;
  }

  /// The parents of `count` trees.
  std::vector<std::vector<Rank>> grow(int count) {
    std::vector<std::vector<Rank>> trees(static_cast<std::size_t>(count));
    std::fill(fill_.begin(), fill_.end(), 0.0);
    steepness_ = first_steepness;
    weight_ = 1.0 / count;
    for (int i = 0; i < count; ++i) {
      // As full as if all trees were like those so far.
      set_prices(static_cast<double>(i + 1) / count);
      trees[static_cast<std::size_t>(i)] = grown_from(start_of(i));
      load(trees[static_cast<std::size_t>(i)], 1);
    }
    for (const double steeper : later_steepness) {
      steepness_ = steeper;
      int replaced = 0;
      for (int i = 0; i < count; ++i) {
        if (replace(trees[static_cast<std::size_t>(i)], i + replaced)) ++replaced;
      }
    }
    return trees;
  }

 private:
  // Spread over the ranks, by a prime.
  Rank start_of(int turn) const { return static_cast<Rank>(std::int64_t{turn} * 7919 % ranks_); }

  bool replace(std::vector<Rank>& tree, int turn) {
    const double before = crowding();
    load(tree, -1);
    set_prices(1);
    std::vector<Rank> other = grown_from(start_of(turn));
    load(other, 1);
    if (crowding() < before) {
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

  double crowding() const {
    double sum = 0;
    for (const double fill : fill_) sum += std::exp(steepness_ * (fill - 1));
    return sum;
  }

  std::vector<Rank> grown_from(Rank start) {
    ways_.set_prices(price_);
    const auto by_depth_alone = [](Rank, Rank) { return 0.0; };
    return cheapest_spanning_tree(ranks_, ways_, start, alike_cost, by_depth_alone);
  }

  void load(const std::vector<Rank>& parents, int sign) {
    for (Rank r = 0; r < ranks_; ++r) {
      if (parents[r] < 0) continue;
      for (const auto links : {paths_.links(parents[r], r), paths_.links(r, parents[r])}) {
        for (const LinkId link : links) {
          fill_[link] += sign * weight_ / (capacity_[link] * target_);
        }
      }
    }
  }

  RankPaths paths_;
  HalfWays ways_;
  int ranks_;
  double target_;
  double steepness_ = 0;
  double weight_ = 0;
  std::vector<double> capacity_;  // by link
  std::vector<double> fill_;      // of the trees so far, of what it carries in the target time
  std::vector<double> price_;     // per byte
};

}  // namespace

TreePacking grown_trees(const Topology& topology, double target, double tolerance, int most) {
  TreePacking best{CollectiveKind::all_reduce, topology.hosts(), {}, 0};
  TreeGrower grower(topology, target);
  if (!grower.joins_all()) return best;
  for (int count = std::min(first_count, most); count <= most; count *= 2) {
    std::vector<PackedTree> trees;
    for (const std::vector<Rank>& parents : grower.grow(count)) {
      const auto root = std::ranges::find(parents, -1) - parents.begin();
      trees.push_back({static_cast<Rank>(root), 1.0 / count, parents, parents});
    }
    std::ranges::stable_sort(trees, {}, &PackedTree::root);
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

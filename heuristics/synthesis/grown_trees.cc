#include "heuristics/synthesis/grown_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"

namespace collbench {
namespace {

constexpr int first_count = 64;
constexpr double first_steepness = 10;
constexpr double later_steepness[] = {30, 100, 300, 1000, 1000};
constexpr double alike_cost = 0.02;  // costs that differ by less are taken for equal
constexpr double no_way = std::numeric_limits<double>::infinity();

class TreeGrower {
 public:
  TreeGrower(const Topology& topology, double target) : ranks_(topology.hosts()), target_(target) {
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      capacity_.push_back(topology.capacity(static_cast<LinkId>(l)));
    }
    fill_.assign(capacity_.size(), 0);
    price_.assign(capacity_.size(), 0);
    const RankPaths paths(topology);
    first_.push_back(0);
    for (Rank a = 0; a < ranks_; ++a) {
      for (Rank b = 0; b < ranks_; ++b) {
        const auto there = paths.links(a, b);
        const auto back = paths.links(b, a);
        if (b < a && !there.empty() && !back.empty()) {
          links_.insert(links_.end(), there.begin(), there.end());
          links_.insert(links_.end(), back.begin(), back.end());
        }
        first_.push_back(links_.size());
      }
    }
  }

  /// The parents of `count` trees; none if some rank is not reached.
  std::vector<std::vector<Rank>> grow(int count) {
    std::vector<std::vector<Rank>> trees(static_cast<std::size_t>(count));
    std::fill(fill_.begin(), fill_.end(), 0.0);
    steepness_ = first_steepness;
    weight_ = 1.0 / count;
    for (int i = 0; i < count; ++i) {
      // As full as if all trees were like those so far.
      set_prices(static_cast<double>(i + 1) / count);
      if (!grow_from(start_of(i), trees[static_cast<std::size_t>(i)])) return {};
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
    std::vector<Rank> other;
    grow_from(start_of(turn), other);
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

  double cost(Rank a, Rank b) const {
    const std::size_t pair = pair_of(a, b);
    if (first_[pair] == first_[pair + 1]) return no_way;
    double sum = 0;
    for (std::size_t i = first_[pair]; i < first_[pair + 1]; ++i) sum += price_[links_[i]];
    return sum;
  }

  std::size_t pair_of(Rank a, Rank b) const {
    return static_cast<std::size_t>(std::max(a, b)) * static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(std::min(a, b));
  }

  // Prim's algorithm; of edges of like costs that which ends least deep.
  bool grow_from(Rank start, std::vector<Rank>& parents) const {
    const auto n = static_cast<std::size_t>(ranks_);
    parents.assign(n, -1);
    std::vector<double> least(n, no_way);
    std::vector<int> depth(n, 0);
    std::vector<Rank> outside(n);
    for (Rank r = 0; r < ranks_; ++r) outside[static_cast<std::size_t>(r)] = (start + r) % ranks_;
    const auto is_less = [](double a, int depth_a, double b, int depth_b) {
      return a < b * (1 - alike_cost) || (a <= b * (1 + alike_cost) && depth_a < depth_b);
    };
    least[static_cast<std::size_t>(start)] = 0;
    while (!outside.empty()) {
      std::size_t next = 0;
      for (std::size_t i = 1; i < outside.size(); ++i) {
        const Rank a = outside[i];
        const Rank b = outside[next];
        if (is_less(least[a], depth[a], least[b], depth[b])) next = i;
      }
      const Rank taken = outside[next];
      if (least[taken] == no_way) return false;
      outside.erase(outside.begin() + static_cast<std::ptrdiff_t>(next));
      for (const Rank r : outside) {
        const double now = cost(taken, r);
        if (!is_less(now, depth[taken] + 1, least[r], depth[r])) continue;
        least[r] = now;
        depth[r] = depth[taken] + 1;
        parents[r] = taken;
      }
    }
    return true;
  }

  void load(const std::vector<Rank>& parents, int sign) {
    for (Rank r = 0; r < ranks_; ++r) {
      if (parents[r] < 0) continue;
      const std::size_t pair = pair_of(parents[r], r);
      for (std::size_t i = first_[pair]; i < first_[pair + 1]; ++i) {
        fill_[links_[i]] += sign * weight_ / (capacity_[links_[i]] * target_);
      }
    }
  }

  int ranks_;
  double target_;
  double steepness_ = 0;
  double weight_ = 0;
  std::vector<double> capacity_;    // by link
  std::vector<double> fill_;        // of the trees so far, of what it carries in the target time
  std::vector<double> price_;       // per byte
  std::vector<std::size_t> first_;  // by pair, the larger rank first, and the end
  std::vector<LinkId> links_;       // both ways
};

PackedTree rooted_in_its_middle(std::vector<Rank> parents, double weight) {
  const std::vector<int> depth = depths(parents);
  const auto far = static_cast<Rank>(std::max_element(depth.begin(), depth.end()) - depth.begin());
  parents = with_root(std::move(parents), far);
  const std::vector<int> from_far = depths(parents);
  auto middle =
      static_cast<Rank>(std::max_element(from_far.begin(), from_far.end()) - from_far.begin());
  for (int up = from_far[middle] / 2; up > 0; --up) middle = parents[middle];
  parents = with_root(std::move(parents), middle);
  return {middle, weight, parents, parents};
}

}  // namespace

TreePacking grown_trees(const Topology& topology, double target, double tolerance, int most) {
  TreePacking best{CollectiveKind::all_reduce, topology.hosts(), {}, 0};
  TreeGrower grower(topology, target);
  for (int count = std::min(first_count, most); count <= most; count *= 2) {
    std::vector<PackedTree> trees;
    for (std::vector<Rank>& parents : grower.grow(count)) {
      trees.push_back(rooted_in_its_middle(std::move(parents), 1.0 / count));
    }
    if (trees.empty()) break;
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

#include "heuristics/synthesis/whole_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace collbench {
namespace {

constexpr double steepness[] = {30, 120, 500, 2000};
constexpr double most_work = 8e8;  // loads of trees to look at: some seconds
// Of a time: more trees leave fewer pieces for each, and so longer filling.
constexpr double each_tree_costs = 3e-5;
// Of a time, if all links are full: real messages are never quite on time, and where a link has
// time to spare a late one does not make the next late.
constexpr double crowding_costs = 1e-3;
constexpr double nearly_full = 0.97;
constexpr double most_asked = 24000;     // over the ranks: for trees, at each multiple
constexpr double depth_strain = 0.05;    // of a hop of a tree: a full link has 1
constexpr double steep_for_edges = 500;  // from there on edges are moved
constexpr int few_multiples = 16;        // trees: soon tried
constexpr int idle_passes = 10;          // over all trees: then moving them is over
constexpr std::size_t most_recent = 300;
constexpr std::size_t most_tried = 12;  // trees given up, and taken instead, per step

class MultipleSearch {
 public:
  /// `target` is the time of the whole vector through all links together, as the pricer's prices
  /// have it.
  MultipleSearch(TreePricer& pricer, double target, double work)
      : pricer_(pricer), target_(target), work_(work) {}

  /// The time over the target; fills counts().
  double run(const std::vector<double>& weights, int of_each) {
    of_each_ = of_each;
    first_ = weights.size();
    asks_left_ = static_cast<int>(
        std::min(most_asked / static_cast<double>(pricer_.ranks()), 20.0 * of_each));
    begin(weights);
    for (const double steep : steepness) {
      steep_ = steep;
      measure();
      while (work_left_ > 0 && improve()) {
      }
      if (steep >= steep_for_edges) move_edges();
    }
    return *std::max_element(fill_.begin(), fill_.end());
  }
  /// The share of links that have no time to spare.
  double crowding() const {
    const double full = nearly_full * *std::max_element(fill_.begin(), fill_.end());
    const auto is_full = [full](double fill) { return fill >= full; };
    return static_cast<double>(std::ranges::count_if(fill_, is_full)) /
           static_cast<double>(fill_.size());
  }
  const std::vector<int>& counts() const { return counts_; }
  /// Whether that share of all work has been done.
  bool is_spent(double share) const { return work_left_ <= (1 - share) * work_; }

 private:
  /// What one tree adds to the fill of a link.
  double unit(LinkId link, double messages) const {
    if (messages == 1) return one_[link];
    return messages / (pricer_.capacity()[link] * target_ * of_each_ * pricer_.roots());
  }

  void begin(const std::vector<double>& weights) {
    one_.resize(pricer_.capacity().size());
    for (std::size_t l = 0; l < one_.size(); ++l) {
      one_[l] = 1 / (pricer_.capacity()[l] * target_ * of_each_ * pricer_.roots());
    }
    counts_.assign(pricer_.trees().size(), 0);
    taken_.clear();
    for (int root = 0; root < pricer_.roots(); ++root) {
      double all = 0;
      for (std::size_t c = 0; c < weights.size(); ++c) all += of_root(c, root) ? weights[c] : 0;
      double end = 0;
      int given = 0;
      for (std::size_t c = 0; c < weights.size(); ++c) {
        if (!of_root(c, root) || weights[c] <= 0) continue;
        end += weights[c] / all * of_each_;
        const int up_to = std::clamp(static_cast<int>(std::lround(end)), given, of_each_);
        counts_[c] = up_to - given;
        given = up_to;
      }
    }
    fill_.assign(pricer_.capacity().size(), 0);
    for (std::size_t c = 0; c < counts_.size(); ++c) add(c, counts_[c]);
  }

  bool of_root(std::size_t tree, int root) const {
    return pricer_.root_of(pricer_.trees()[tree]) == root;
  }

  void add(std::size_t tree, int times) {
    if (times == 0) return;
    for (const auto& [link, messages] : pricer_.loads()[tree]) {
      fill_[link] += times * unit(link, messages);
    }
  }

  double strain(double fill) const { return std::exp(std::min(600.0, steep_ * (fill - 1))); }

  void measure() {
    strain_.resize(fill_.size());
    price_.resize(fill_.size());
    for (std::size_t l = 0; l < fill_.size(); ++l) measure(l);
  }

  void measure(std::size_t link) {
    strain_[link] = strain(fill_[link]);
    price_[link] = strain_[link] * one_[link];
  }

  /// The inmost loop of the search. Inlined, its sum would go through memory.
  [[gnu::noinline]] double cost(std::size_t tree) const {
    double sum = 0;
    for (const auto& [link, messages] : pricer_.loads()[tree]) {
      sum += messages == 1 ? price_[link] : strain_[link] * unit(link, messages);
    }
    return sum;
  }

  double all_strain() const { return std::accumulate(strain_.begin(), strain_.end(), 0.0); }

  /// Gives up one of the trees that strain most for one that strains less; false if there is none.
  bool improve() {
    std::vector<std::pair<double, std::size_t>> out;
    for (std::size_t c = 0; c < first_; ++c) {
      if (counts_[c] > 0) out.emplace_back(-cost(c), c);
    }
    for (const std::size_t c : taken_) out.emplace_back(-cost(c), c);
    std::sort(out.begin(), out.end());
    const double before = all_strain();
    const auto deep = [&](std::size_t c) { return depth_strain * pricer_.deepness()[c]; };
    for (const auto& [saves, tree] : out) {
      if (work_left_ <= 0) return false;
      change(tree, -1);
      if (asks_left_-- > 0) ask();
      const std::size_t other = best_for(pricer_.root_of(pricer_.trees()[tree]));
      change(other, 1);
      const double saved_by_depth = deep(tree) - deep(other);
      if (all_strain() < (before + saved_by_depth) * (1 - 1e-9)) return true;
      change(other, -1);
      change(tree, 1);
    }
    return false;
  }

  /// Gives single ranks other parents while that strains less. A link that is a message too full
  /// may have no move that takes it to where there is room; so moves that only take it elsewhere
  /// are made too, for a while.
  void move_edges() {
    if (!pricer_.moves_edges()) return;
    bool is_priced = false;
    PairCosts more;
    PairCosts less;
    for (int idle = 0; idle < idle_passes && work_left_ > 0; ++idle) {
      const std::size_t known = counts_.size();
      for (std::size_t tree = 0; tree < known && work_left_ > 0; ++tree) {
        if (counts_[tree] == 0) continue;
        if (!std::exchange(is_priced, true)) {
          more = pricer_.pair_costs(prices_of_one(1));
          less = pricer_.pair_costs(prices_of_one(-1));
        }
        work_left_ -= 4.0 * pricer_.ranks() * pricer_.ranks();
        const std::size_t other =
            pricer_.with_moved_edge(tree, more, less, depth_strain, ++moves_asked_);
        counts_.resize(pricer_.trees().size(), 0);
        if (other == tree) continue;
        const double before = all_strain();
        change(tree, -1);
        change(other, 1);
        const double longer = depth_strain * (pricer_.deepness()[other] - pricer_.deepness()[tree]);
        const double after = all_strain() + longer;
        if (after > before * (1 + 1e-12)) {
          change(other, -1);
          change(tree, 1);
          continue;
        }
        is_priced = false;
        if (after < before * (1 - 1e-9)) idle = -1;
      }
    }
  }

  /// What `messages` more strain each link, or what it saves if there are fewer.
  std::vector<double> prices_of_one(int messages) const {
    std::vector<double> prices(fill_.size());
    for (std::size_t l = 0; l < prices.size(); ++l) {
      const double other = strain(fill_[l] + unit(static_cast<LinkId>(l), messages));
      prices[l] = std::abs(other - strain_[l]);
    }
    return prices;
  }

  void change(std::size_t tree, int times) {
    const bool was_taken = counts_[tree] > 0;
    counts_[tree] += times;
    if (tree >= first_ && was_taken != (counts_[tree] > 0)) {
      if (was_taken)
        std::erase(taken_, tree);
      else
        taken_.push_back(tree);
    }
    add(tree, times);
    for (const auto& [link, messages] : pricer_.loads()[tree]) measure(link);
  }

  /// The tree that adds least strain, by trying those that look cheapest.
  std::size_t best_for(int root) {
    std::vector<std::pair<double, std::size_t>> in;
    const auto look_at = [&](std::size_t c) {
      if (!of_root(c, root)) return;
      in.emplace_back(cost(c), c);
      work_left_ -= static_cast<double>(pricer_.loads()[c].size());
    };
    const std::size_t recent =
        std::max(first_, counts_.size() - std::min(counts_.size(), most_recent - 1));
    for (std::size_t c = 0; c < first_; ++c) look_at(c);
    for (const std::size_t c : taken_) {
      if (c < recent) look_at(c);
    }
    for (std::size_t c = recent; c < counts_.size(); ++c) look_at(c);
    const std::size_t keep = std::min(in.size(), most_tried);
    std::partial_sort(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(keep), in.end());
    in.resize(keep);
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = in.front().second;
    for (const auto& [looks, tree] : in) {
      double strains = depth_strain * pricer_.deepness()[tree];
      for (const auto& [link, messages] : pricer_.loads()[tree]) {
        strains += strain(fill_[link] + unit(link, messages)) - strain_[link];
        if (strains >= least) break;
      }
      if (strains >= least) continue;
      least = strains;
      best = tree;
    }
    return best;
  }

  /// Looks for trees over the links that are least full.
  void ask() {
    std::vector<double> prices(strain_.size());
    double sum = 0;
    for (std::size_t l = 0; l < prices.size(); ++l) {
      prices[l] = (strain_[l] + 1e-12) / pricer_.capacity()[l];
      sum += prices[l] * pricer_.capacity()[l];
    }
    for (double& price : prices) price /= sum;
    if (pricer_.shares_trees()) pricer_.make_even(prices);
    const bool shallow = asked_ % 2 == 1 && pricer_.price_shallow(prices, asked_ / 2);
    if (!shallow) pricer_.price(prices);
    ++asked_;
    counts_.resize(pricer_.trees().size(), 0);
  }

  TreePricer& pricer_;
  double target_;
  int of_each_ = 1;
  double steep_ = 0;
  std::vector<int> counts_;         // by tree
  std::vector<std::size_t> taken_;  // from first_ on, those with a count
  // By link:
  std::vector<double> one_;     // what one message of a tree adds to its fill
  std::vector<double> fill_;    // time over the target
  std::vector<double> strain_;  // what its fill costs
  std::vector<double> price_;   // what a message more would cost, about
  double work_;
  double work_left_ = work_;
  int asks_left_ = 0;
  int asked_ = 0;
  int moves_asked_ = 0;
  std::size_t first_ = 0;  // trees that were there before
};

/// Numbers of trees of each root, best first, and the time over the target that they promise: full
/// links carry whole trees only, and among more trees the search finds the best more easily.
std::vector<std::pair<double, int>> promising_multiples(const TreePricer& pricer,
                                                        const std::vector<double>& weights,
                                                        double target, int most) {
  constexpr double hardly_empty = 0.999;
  constexpr double of_search = 0.25;  // of a time, with one tree
  std::vector<double> fill(pricer.capacity().size(), 0);
  for (std::size_t c = 0; c < weights.size(); ++c) {
    for (const auto& [link, messages] : pricer.loads()[c]) {
      fill[link] += weights[c] * messages / (pricer.capacity()[link] * target);
    }
  }
  std::set<double> full;  // capacities, in shares of the vector
  for (std::size_t l = 0; l < fill.size(); ++l) {
    if (fill[l] > hardly_empty) full.insert(pricer.capacity()[l] * target);
  }
  std::vector<std::pair<double, int>> made;
  for (int of_each = 1; of_each * pricer.roots() <= most; ++of_each) {
    const double trees = of_each * pricer.roots();
    double promise = 1;
    for (const double share : full) {
      const double room = share * trees;
      promise = std::max(promise, room / std::max(1e-3, std::floor(room * (1 + 1e-4))));
    }
    made.emplace_back(
        promise + each_tree_costs * trees + (trees > few_multiples ? of_search / trees : 0),
        of_each);
  }
  std::sort(made.begin(), made.end());
  return made;
}

}  // namespace

std::vector<int> whole_multiples(TreePricer& pricer, const std::vector<double>& weights,
                                 double seconds_per_byte, int most, double tolerance, double effort,
                                 const TimeOfCounts& time_of) {
  const double target = seconds_per_byte * pricer.total();
  MultipleSearch search(pricer, target, effort * most_work);
  std::vector<int> best;
  double least = std::numeric_limits<double>::infinity();
  // Whether that is as good as can be asked for.
  const auto is_enough = [&](int of_each) {
    double time = search.run(weights, of_each);
    if (time_of) time = std::min(time, time_of(search.counts()) / seconds_per_byte);
    const int trees = of_each * pricer.roots();
    const double whole = time + each_tree_costs * trees + crowding_costs * search.crowding();
    if (whole < least) {
      least = whole;
      best = search.counts();
    }
    return time <= 1 + tolerance && trees >= pricer.ranks() - 1;
  };
  // Growing numbers find trees that larger ones need as well; then those that promise most. With
  // little effort only few of the former leave enough for the latter.
  const int most_grown = effort < 1 ? std::min(most, few_multiples) : most;
  bool is_done = false;
  int of_each = pricer.roots() > 1 ? 1 : 4;
  while (!is_done && !search.is_spent(0.5) && of_each * pricer.roots() <= most_grown) {
    is_done = is_enough(of_each);
    of_each += std::max(1, of_each / 6);
  }
  for (const auto& [promise, promising] : promising_multiples(pricer, weights, target, most)) {
    if (is_done || promise >= least || search.is_spent(1)) break;
    is_done = is_enough(promising);
  }
  if (!best.empty()) best.resize(pricer.trees().size(), 0);
  return best;
}

}  // namespace collbench

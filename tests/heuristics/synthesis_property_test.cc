// Plans of random networks: proven, never better than their bound, and no worse than what prices of
// links leave.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/verify.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

enum class Style { directed, both_ways, tree, star, balanced };

/// Links between up to 6 ranks and 3 switches, by their ends; strongly connected.
class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : generator_(seed) {
    ranks_ = from(2, 6);
    style_ = static_cast<Style>(from(0, 4));
    const int switches = style_ == Style::star ? from(1, 2) : from(0, 3);
    for (int r = 0; r < ranks_; ++r) names_.push_back(fmt::format("g{}", r));
    for (int s = 0; s < switches; ++s) names_.push_back(fmt::format("s_{}", s));
    make();
  }

  Topology topology(unsigned seed) const {
    std::string text = "from,to,bandwidth_GBps,kind\n";
    for (const auto& [ends, rate] : links_) {
      text += fmt::format("{},{},{},link\n", names_[ends.first], names_[ends.second], rate);
    }
    return from_edge_list(text, fmt::format("random {}", seed)).topology;
  }

 private:
  int from(int least, int most) {
    return least + static_cast<int>(generator_() % (most - least + 1));
  }
  int vertices() const { return static_cast<int>(names_.size()); }
  void add(int a, int b, int rate) {
    if (a != b) links_[{a, b}] += rate;
  }
  void add_both(int a, int b, int rate) {
    add(a, b, rate);
    add(b, a, rate);
  }
  void add_cycle(int vertices_on_it, int rate) {
    std::vector<int> order(names_.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator_);
    for (int i = 0; i < vertices_on_it; ++i) add(order[i], order[(i + 1) % vertices_on_it], rate);
  }

  void make() {
    switch (style_) {
      case Style::directed:
        add_cycle(vertices(), from(1, 20));
        for (int i = from(0, 3 * ranks_); i > 0; --i) {
          add(from(0, vertices() - 1), from(0, vertices() - 1), from(1, 25));
        }
        break;
      case Style::both_ways:
      case Style::tree:
        for (int v = 1; v < vertices(); ++v) add_both(v, from(0, v - 1), from(1, 30));
        for (int i = style_ == Style::tree ? 0 : from(0, 2 * ranks_); i > 0; --i) {
          add_both(from(0, vertices() - 1), from(0, vertices() - 1), from(1, 30));
        }
        break;
      case Style::star:
        for (int s = ranks_; s < vertices(); ++s) {
          for (int r = 0; r < ranks_; ++r) {
            if (s == ranks_ || from(0, 1) == 0) add_both(r, s, from(1, 30));
          }
        }
        break;
      case Style::balanced:
        add_cycle(vertices(), 2);
        for (int i = from(2, 10); i > 0; --i) add_cycle(from(2, vertices()), from(1, 20));
        break;
    }
  }

  std::minstd_rand generator_;
  int ranks_ = 0;
  Style style_ = Style::directed;
  std::vector<std::string> names_;
  std::map<std::pair<int, int>, int> links_;
};

TEST(SynthesisProperty, PlansOfRandomNetworksAreProvenAndNearTheirBounds) {
  const Bytes bytes{1 << 26};
  for (unsigned seed = 1; seed <= 15; ++seed) {
    const Topology network = RandomNetwork(seed).topology(seed);
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      SCOPED_TRACE(testing::Message() << network.name() << ", " << to_string(kind));
      const SynthesisedPlan plan = synthesise(network, kind);
      EXPECT_LE(plan.share(), 1 + 1e-9);
      EXPECT_LE(plan.share(plan.played()), 1 + 1e-9);
      const Schedule schedule = to_schedule(plan, bytes);
      EXPECT_TRUE(verify(schedule, {kind, 0}).ok());
      // Shares of the ranks are whole elements, so that one may have a little less than its part.
      const double over = simulated_over_bound(plan, schedule, bytes);
      EXPECT_GE(over, 1 - 1e-5);
      const double bound = bound_of(plan, Bytes{1}).count();
      EXPECT_LE(over, 1.05 * std::max(1.0, plan.least_by_any_ways / bound));
    }
  }
}

}  // namespace
}  // namespace collbench

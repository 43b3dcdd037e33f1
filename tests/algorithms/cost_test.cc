// Costs counted from the schedules equal what the registry claims, what an independent computation
// found, and never beat the lower bounds.
#include <bit>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/formula.h"
#include "tests/algorithms/instances.h"

#include "algorithms/options.h"
#include "algorithms/tree.h"
#include "algorithms/verify.h"
#include "core/error.h"

namespace collbench {
namespace {

int ceil_log2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

double in_vectors(std::int64_t chunks, const Schedule& schedule) {
  return static_cast<double>(chunks) / schedule.chunks();
}

FormulaContext default_context(int n) {
  FormulaContext context;
  context.variables = {{'n', n},
                       {'L', ceil_log2(n)},
                       {'p', std::bit_floor(static_cast<unsigned>(n))},
                       {'S', 8},
                       {'k', std::max(1, n / 2)}};
  context.dims = dims_option({"any", {}}, "dims", n);
  return context;
}

void expect_claim(const AlgorithmInfo& info, std::string_view quantity, int n, double actual) {
  const Claim claim = find_claim(info.cost, quantity);
  const double claimed = evaluate(claim.formula, default_context(n));
  if (claim.is_bound) {
    EXPECT_LE(actual, claimed + 1e-9) << info.name << " with " << n << " ranks: " << quantity;
  } else {
    EXPECT_NEAR(actual, claimed, 1e-9) << info.name << " with " << n << " ranks: " << quantity;
  }
}

TEST(Registry, ClaimsTheCostsThatItsSchedulesHave) {
  for (const AlgorithmInfo& info : algorithms()) {
    for (int n = 2; n <= 66; ++n) {
      if (!allows(std::string(info.name), n)) continue;
      const Schedule schedule = make_schedule(info.name, n);
      const ScheduleCost cost = count_cost(schedule);
      expect_claim(info, "rounds", n, cost.rounds);
      expect_claim(info, "sent", n, in_vectors(cost.max_sent, schedule));
      expect_claim(info, "reduced", n, in_vectors(cost.max_reduced, schedule));
    }
  }
}

TEST(Registry, DefaultsInTheRowsAreThoseOfTheMakers) {
  for (const AlgorithmInfo& info : algorithms()) {
    AlgorithmSpec spec{std::string(info.name), {}};
    for (const AlgorithmOption& option : info.options) {
      const std::string value(option.default_value);
      spec.options[std::string(option.name)] = value.empty() ? "0" : value;
    }
    const Schedule expected = make_schedule(info.name, 8);
    const Schedule actual = make_schedule(spec, 8);
    EXPECT_EQ(actual.chunks(), expected.chunks()) << to_string(spec);
    EXPECT_EQ(actual.rounds(), expected.rounds()) << to_string(spec);
    EXPECT_EQ(count_cost(actual).max_sent, count_cost(expected).max_sent) << to_string(spec);
  }
}

TEST(EverySchedule, RespectsTheLowerBounds) {
  std::vector<int> counts = counts_to(40);
  counts.insert(counts.end(), {63, 64, 65, 100, 128});
  for (const Instance& instance : instances(counts)) {
    const int n = instance.ranks;
    if (n == 1) continue;
    const Schedule schedule = make_schedule(instance.spec, n);
    const ScheduleCost cost = count_cost(schedule);
    // In one round a rank may hear from many peers, so only a one-ported schedule needs
    // ceil(log2 n) rounds; bytes are bounded whatever the ports.
    const double least = (n - 1.0) / n;
    EXPECT_GE(in_vectors(cost.max_sent, schedule), 2 * least - 1e-9) << instance.spec << n;
    EXPECT_GE(in_vectors(cost.max_received, schedule), 2 * least - 1e-9) << instance.spec << n;
    EXPECT_GE(in_vectors(cost.max_reduced, schedule), least - 1e-9) << instance.spec << n;
    EXPECT_GE(cost.total_messages, 2 * (n - 1)) << instance.spec << n;
    EXPECT_GE(cost.rounds, 1);
  }
}

// The most messages that one rank sends or receives in one round.
int ports(const Schedule& schedule) {
  int most = 0;
  Round round;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(r, t, round);
      int sends = 0;
      int receives = 0;
      for (const Op& op : round.ops()) {
        sends += op.kind == OpKind::send;
        receives += op.kind != OpKind::send && op.peer != r;
      }
      most = std::max({most, sends, receives});
    }
  }
  return most;
}

TEST(EverySchedule, NeedsAsManyRoundsAsItsPortsDemand) {
  for (const Instance& instance : instances({2, 3, 5, 8, 13, 16, 24, 31, 32, 40})) {
    const Schedule schedule = make_schedule(instance.spec, instance.ranks);
    // With q ports a rank's term reaches at most (q+1)^rounds ranks.
    const double reach = std::pow(ports(schedule) + 1.0, schedule.rounds());
    EXPECT_GE(reach, instance.ranks) << instance.spec << " with " << instance.ranks;
    if (ports(schedule) == 1) {
      EXPECT_GE(schedule.rounds(), ceil_log2(instance.ranks)) << instance.spec;
    }
  }
}

TEST(EverySchedule, EqualsTheIndependentlyComputedCosts) {
  std::ifstream file(COLLBENCH_INVARIANTS);
  ASSERT_TRUE(file) << COLLBENCH_INVARIANTS;
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with("spec,")) continue;
    for (char& c : line) c = c == ',' ? ' ' : c;
    std::istringstream in(line);
    std::string spec;
    int ranks = 0;
    int rounds = 0;
    double sent = 0;
    double received = 0;
    double reduced = 0;
    int messages = 0;
    ASSERT_TRUE(in >> spec >> ranks >> rounds >> sent >> received >> reduced >> messages) << line;
    const Schedule schedule = make_schedule(spec, ranks);
    const ScheduleCost cost = count_cost(schedule);
    EXPECT_EQ(cost.rounds, rounds) << line;
    EXPECT_NEAR(in_vectors(cost.max_sent, schedule), sent, 1e-6) << line;
    EXPECT_NEAR(in_vectors(cost.max_received, schedule), received, 1e-6) << line;
    EXPECT_NEAR(in_vectors(cost.max_reduced, schedule), reduced, 1e-6) << line;
    // The figures count one message per exchange; a cyclic range of chunks that wraps is two here.
    EXPECT_GE(cost.max_messages, messages) << line;
    EXPECT_LE(cost.max_messages, spec == "circulant" ? 2 * messages : messages) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 202);
}

// "14, 1.75, 0.875": rounds, sent, reduced as docs/algorithms.md prints them.
std::string documented_cost(std::string_view name, int n) {
  if (!allows(std::string(name), n)) return "-";
  const Schedule schedule = make_schedule(name, n);
  const ScheduleCost cost = count_cost(schedule);
  std::ostringstream text;
  text << std::setprecision(4) << cost.rounds << ", " << in_vectors(cost.max_sent, schedule) << ", "
       << in_vectors(cost.max_reduced, schedule);
  return text.str();
}

TEST(Documentation, ShowsTheCountedCostsOfEveryAlgorithm) {
  std::ifstream file(COLLBENCH_DOCUMENT);
  std::stringstream document;
  document << file.rdbuf();
  for (const AlgorithmInfo& info : algorithms()) {
    std::string line = "| `" + std::string(info.name) + "` |";
    for (const int n : {8, 12, 64}) line += " " + documented_cost(info.name, n) + " |";
    EXPECT_THAT(document.str(), testing::HasSubstr("\n" + line + "\n"));
    for (const AlgorithmOption& option : info.options) {
      EXPECT_THAT(document.str(), testing::HasSubstr("`" + std::string(option.name) + "`"));
    }
  }
}

TEST(Pincer, HalvesTheRoundsOfTheRing) {
  for (int n = 2; n <= 40; ++n) EXPECT_EQ(make_schedule("ring:pincer", n).rounds(), n / 2 * 2);
  EXPECT_EQ(make_schedule("torus:dims=4x6:pincer", 24).rounds(), 2 * (2 + 3));
}

TEST(Torus, UsesBothDirectionsOfEveryAxisInEveryRound) {
  // 4x4: two tracks of bidirectional rings; each rank sends to all four neighbours at all times.
  const Schedule schedule = make_schedule("torus:dims=4x4", 16);
  Round round;
  for (Rank r = 0; r < 16; ++r) {
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(r, t, round);
      std::vector<Rank> to;
      for (const Op& op : round.ops()) {
        if (op.kind == OpKind::send) to.push_back(op.peer);
      }
      const int x = r % 4;
      const int y = r / 4;
      EXPECT_THAT(to, testing::UnorderedElementsAre((x + 1) % 4 + 4 * y, (x + 3) % 4 + 4 * y,
                                                    x + (y + 1) % 4 * 4, x + (y + 3) % 4 * 4));
    }
  }
}

TEST(Mesh, SendsOnlyToNeighboursOnTheLine) {
  const Schedule schedule = make_schedule("torus:dims=5x3:wrap=0,0", 15);
  Round round;
  for (Rank r = 0; r < 15; ++r) {
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(r, t, round);
      for (const Op& op : round.ops()) {
        const int dx = std::abs(op.peer % 5 - r % 5);
        const int dy = std::abs(op.peer / 5 - r / 5);
        EXPECT_EQ(dx + dy, 1) << "rank " << r << " and " << op.peer;
      }
    }
  }
}

TEST(Hierarchical, SendsOnlyTheNodesShareBetweenNodes) {
  // 8 ranks per node, 4 nodes: 2 (G-1)/G * M/L between nodes.
  const Schedule schedule = make_schedule("hierarchical:dims=8x4", 32);
  Round round;
  for (Rank r = 0; r < 32; ++r) {
    int outside = 0;
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(r, t, round);
      for (const Op& op : round.ops()) {
        if (op.kind == OpKind::send && op.peer / 8 != r / 8) outside += op.chunks.count;
      }
    }
    EXPECT_DOUBLE_EQ(in_vectors(outside, schedule), 2.0 * 3 / 4 / 8);
  }
}

TEST(DoubleTree, GivesEveryRankAtMostTwoChildrenInAllAndSendsTwiceTheVector) {
  for (int n = 4; n <= 256; n += n < 40 ? 1 : 27) {
    const auto trees = double_tree_parents(n);
    ASSERT_EQ(trees.size(), 2u);
    for (const auto& parents : trees) {
      std::vector<int> children(n, 0);
      for (const Rank parent : parents) {
        if (parent >= 0) ++children[parent];
      }
      EXPECT_THAT(children, testing::Each(testing::Le(2))) << n;
      EXPECT_EQ(std::count(parents.begin(), parents.end(), -1), 1) << n;
    }
    const Schedule schedule = make_schedule("double-tree", n);
    EXPECT_DOUBLE_EQ(in_vectors(count_cost(schedule).max_sent, schedule), 2.0) << n;
  }
  const Schedule three = make_schedule("double-tree", 3);
  EXPECT_DOUBLE_EQ(in_vectors(count_cost(three).max_sent, three), 1.5);
}

TEST(DoubleTree, HasTheParentsOfNcclsTreesForEightRanks) {
  const auto trees = double_tree_parents(8);
  EXPECT_THAT(trees[0], testing::ElementsAre(-1, 2, 4, 2, 0, 6, 4, 6));
  EXPECT_THAT(trees[1], testing::ElementsAre(1, 3, 1, 7, 5, 3, 5, -1));
}

TEST(Circulant, SendsAtMostTwoRangesPerRound) {
  for (int n = 2; n <= 64; ++n) {
    const ScheduleCost cost = count_cost(make_schedule("circulant", n));
    EXPECT_LE(cost.max_messages, 2 * cost.rounds) << n;
  }
}

TEST(Swing, MeetsPartnersWithinTheJacobsthalDistance) {
  // |rho| is 1, 1, 3, 5, 11, 21: on a ring of n the partner of round t is that far away.
  const Schedule schedule = make_schedule("swing", 64);
  const std::vector<int> distances{1, 1, 3, 5, 11, 21};
  Round round;
  for (Rank r = 0; r < 64; ++r) {
    for (int t = 0; t < 6; ++t) {
      schedule.round(r, t, round);
      const int ahead = (round.ops()[0].peer - r + 64) % 64;
      EXPECT_EQ(std::min(ahead, 64 - ahead), distances[t]);
    }
  }
}

}  // namespace
}  // namespace collbench

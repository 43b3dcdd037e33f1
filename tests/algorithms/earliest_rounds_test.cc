#include "algorithms/earliest_rounds.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"

namespace collbench {
namespace {

TEST(EarliestRounds, FollowsTheLongestChain) {
  EXPECT_THAT(earliest_rounds(4, {{0, 1, 1}, {1, 2, 1}, {0, 2, 0}, {0, 3, 0}}),
              testing::Optional(testing::ElementsAre(0, 1, 2, 0)));
}

TEST(EarliestRounds, PutsCyclesWithoutDelayIntoOneRound) {
  EXPECT_THAT(earliest_rounds(3, {{0, 1, 0}, {1, 0, 0}, {1, 2, 1}}),
              testing::Optional(testing::ElementsAre(0, 0, 1)));
}

TEST(EarliestRounds, RefutesCyclesWithDelay) {
  EXPECT_EQ(earliest_rounds(3, {{0, 1, 0}, {1, 2, 0}, {2, 0, 1}}), std::nullopt);
  EXPECT_EQ(earliest_rounds(1, {{0, 0, 1}}), std::nullopt);
}

TEST(EarliestRounds, EqualsRelaxationOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomEngine engine = random_engine(seed, "graphs");
    const auto draw = [&engine](int most) {
      return std::uniform_int_distribution<int>(0, most)(engine);
    };
    const int nodes = 1 + draw(12);
    std::vector<Precedence> edges;
    for (int i = draw(20); i > 0; --i)
      edges.push_back({draw(nodes - 1), draw(nodes - 1), draw(4) / 4});
    std::vector<int> expected(nodes, 0);
    for (int sweep = 0; sweep <= nodes; ++sweep) {
      for (const Precedence& e : edges) {
        expected[e.to] = std::max(expected[e.to], expected[e.from] + e.delay);
      }
    }
    const bool settled = std::all_of(edges.begin(), edges.end(), [&](const Precedence& e) {
      return expected[e.to] >= expected[e.from] + e.delay;
    });
    const auto rounds = earliest_rounds(nodes, edges);
    ASSERT_EQ(rounds.has_value(), settled) << "seed " << seed;
    if (settled) {
      EXPECT_EQ(*rounds, expected) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace collbench

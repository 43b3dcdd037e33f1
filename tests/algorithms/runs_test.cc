// Rounds that a schedule calls alike are alike: a wrong hint would make simulated times wrong.
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/algorithms/pipelined.h"

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/registry.h"

namespace collbench {
namespace {

// Whether `rank` does the same in both rounds up to which chunks are named.
bool alike(const Schedule& schedule, Rank rank, int one, int other) {
  Round a;
  Round b;
  schedule.round(rank, one, a);
  schedule.round(rank, other, b);
  const auto same = [](const Op& x, const Op& y) {
    return x.kind == y.kind && x.peer == y.peer && x.chunks.count == y.chunks.count;
  };
  return a.ops().size() == b.ops().size() &&
         std::equal(a.ops().begin(), a.ops().end(), b.ops().begin(), same);
}

void expect_alike_within_runs(const Schedule& schedule, const std::string& what) {
  for (int t = 0; t < schedule.rounds(); ++t) {
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      ASSERT_TRUE(alike(schedule, r, t, schedule.pattern(t)))
          << what << ": rank " << r << " in round " << t;
    }
  }
}

TEST(Runs, HaveAlikeRoundsForEveryAlgorithm) {
  for (const Instance& instance : instances(counts_to(40))) {
    expect_alike_within_runs(make_schedule(instance.spec, instance.ranks), instance_name(instance));
  }
}

TEST(Runs, HaveAlikeRoundsInCompositions) {
  for (const int n : {1, 2, 3, 4, 7, 8, 12}) {
    for (const std::string spec : {"ring", "ring:pincer", "tree:segments=9", "hierarchical"}) {
      const Schedule inner = make_schedule(spec, n);
      for (const int segments : {1, 2, 3, 40}) {
        expect_alike_within_runs(pipelined(inner, segments), spec);
        expect_alike_within_runs(mirrored(pipelined(inner, segments)), spec);
      }
      expect_alike_within_runs(folded(inner, 2 * n - 1), spec);
      expect_alike_within_runs(tabulate(split(inner, 2)), spec);
    }
  }
}

TEST(Runs, StartAscendingFromTheFirstRound) {
  for (const Instance& instance : instances({1, 2, 3, 8, 24})) {
    const Schedule schedule = make_schedule(instance.spec, instance.ranks);
    const std::vector<int> runs = schedule.runs();
    ASSERT_EQ(runs.empty(), schedule.rounds() == 0);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(schedule.pattern(runs[i]), runs[i]);
      EXPECT_LT(runs[i], schedule.rounds());
      EXPECT_TRUE(i == 0 ? runs[i] == 0 : runs[i] > runs[i - 1]);
    }
  }
}

TEST(Runs, AreFewWhereRoundsRepeat) {
  EXPECT_EQ(ring(1000).runs(), (std::vector<int>{0, 999}));
  EXPECT_EQ(ring(1000, RingVariant::bidirectional, 4).runs(), (std::vector<int>{0, 999}));
  EXPECT_EQ(ring(1000, RingVariant::pincer).runs(), (std::vector<int>{0, 1, 500, 999}));
  EXPECT_EQ(make_schedule("tf-ring", 1000).runs(), (std::vector<int>{0, 999}));
  EXPECT_EQ(make_schedule("hierarchical:dims=30x40", 1200).runs().size(), 4U);
  // Up and down 6 levels each: 12 rounds to fill, 12 to drain, the same in between.
  EXPECT_EQ(tree(100, 500).runs().size(), 23U);
}

TEST(Runs, AreSingleRoundsWhereNothingIsSaid) {
  const Schedule silent("silent", {2, 1, 3}, [](Rank, int, Round&) {});
  EXPECT_EQ(silent.runs(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(silent.pattern(2), 2);
}

}  // namespace
}  // namespace collbench

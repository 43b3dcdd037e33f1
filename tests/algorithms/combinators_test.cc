// Compositions keep the meaning of their parts: random ones are all-reduces if their parts are.
#include "algorithms/combinators.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/algorithms/pipelined.h"
#include "tests/algorithms/simulated_ranks.h"

#include "algorithms/registry.h"
#include "algorithms/rooted.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

// Grows random all-reduces over n ranks from registered ones.
class Composer {
 public:
  explicit Composer(std::uint64_t seed) : engine_(random_engine(seed, "compositions")) {}

  Schedule all_reduce(int n, int depth) {
    if (depth == 0 || n == 1) return leaf(n);
    switch (between(0, 6)) {
      case 0:
        return side_by_side(n, depth);
      case 1:
        return split(all_reduce(n, depth - 1), between(1, 3));
      case 2:
        return pipelined(all_reduce(n, depth - 1), between(1, 4));
      case 3:
        return folded(all_reduce(between(n / 2 + 1, n), depth - 1), n);
      case 4:
        return permuted(all_reduce(n, depth - 1));
      case 5:
        return led(n, depth);
      default:
        return tabulate(all_reduce(n, depth - 1));
    }
  }

  int between(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(engine_);
  }

 private:
  Schedule leaf(int n) {
    for (;;) {
      const auto rows = algorithms();
      const AlgorithmInfo& row = rows[between(0, static_cast<int>(rows.size()) - 1)];
      if (row.name != "swing" || (n & (n - 1)) == 0) return make_schedule(row.name, n);
    }
  }

  // Two all-reduces on disjoint chunks of one buffer.
  Schedule side_by_side(int n, int depth) {
    const Schedule a = all_reduce(n, depth - 1);
    const Schedule b = all_reduce(n, depth - 1);
    const int split_at = a.chunks() * between(1, 2);
    const int chunks = split_at + b.chunks() * between(1, 2);
    return concurrent("side by side",
                      {embed(a, n, chunks, everybody(n), {0, split_at}),
                       embed(b, n, chunks, everybody(n), {split_at, chunks - split_at})});
  }

  Schedule permuted(const Schedule& inner) {
    return embed(inner, inner.ranks(), inner.chunks(), shuffled(inner.ranks()),
                 {0, inner.chunks()});
  }

  // Random teams broadcast backwards (reduce) to their leaders, who all-reduce and broadcast.
  Schedule led(int n, int depth) {
    const std::vector<Rank> order = shuffled(n);
    std::vector<std::vector<Rank>> teams;
    for (int begin = 0; begin < n;) {
      const int end = begin + between(1, std::min(4, n - begin));
      teams.emplace_back(order.begin() + begin, order.begin() + end);
      begin = end;
    }
    std::vector<Rank> leaders;
    for (const auto& team : teams) leaders.push_back(team[0]);
    const Schedule top = all_reduce(static_cast<int>(leaders.size()), depth - 1);
    const Chunks all{0, top.chunks()};
    std::vector<Schedule> up;
    std::vector<Schedule> down;
    for (const auto& team : teams) {
      const int size = static_cast<int>(team.size());
      up.push_back(embed(reduction(size), n, all.count, team, all));
      down.push_back(embed(mirrored(reduction(size)), n, all.count, team, all));
    }
    return sequence("led", {concurrent("up", up), embed(top, n, all.count, leaders, all),
                            concurrent("down", down)});
  }

  static Schedule reduction(int ranks) {
    const auto play = [ranks](Rank r, int, Round& out) {
      if (r > 0) out.send(0, {0});
      for (Rank from = 1; r == 0 && from < ranks; ++from) out.recv_reduce(from, {0});
    };
    return {"reduction", {ranks, 1, ranks > 1 ? 1 : 0}, play};
  }

  std::vector<Rank> everybody(int n) {
    std::vector<Rank> ranks(n);
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  std::vector<Rank> shuffled(int n) {
    std::vector<Rank> ranks = everybody(n);
    std::shuffle(ranks.begin(), ranks.end(), engine_);
    return ranks;
  }

  RandomEngine engine_;
};

TEST(Composition, OfRandomPartsIsAnAllReduceAndReplicaConsistent) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Composer composer(seed);
    const int n = composer.between(1, 17);
    const Schedule schedule = composer.all_reduce(n, composer.between(1, 3));
    const Verification verification = verify_allreduce(schedule);
    ASSERT_TRUE(verification.ok()) << "seed " << seed << ": " << verification.violations[0].what;
    EXPECT_TRUE(verification.replica_consistent) << "seed " << seed << ", " << n << " ranks";
  }
}

TEST(Sequence, PlaysItsStagesInOrder) {
  const Schedule ring = make_schedule("ring", 3);
  const Schedule twice = sequence("twice", {ring, ring});
  EXPECT_EQ(twice.rounds(), 2 * ring.rounds());
  // The second all-reduce sums three equal vectors.
  const Vectors inputs{{1, 10, 100}, {2, 20, 200}, {3, 30, 300}};
  EXPECT_THAT(play(twice, inputs), testing::Each(testing::ElementsAre(18, 180, 1800)));
}

TEST(Sequence, SkipsStagesWithoutRounds) {
  const Schedule one = make_schedule("ring", 1);
  EXPECT_EQ(sequence("idle", {one, one}).rounds(), 0);
}

TEST(Sequence, RefusesStagesOfDifferentShape) {
  EXPECT_THROW(sequence("odd", {make_schedule("ring", 3), make_schedule("ring", 4)}),
               InvalidArgument);
  EXPECT_THROW(sequence("none", {}), InvalidArgument);
}

TEST(Concurrent, IdlesAtTheEndOfShorterParts) {
  const Schedule ring = embed(make_schedule("ring", 4), 4, 5, {0, 1, 2, 3}, {0, 4});
  const Schedule once = embed(make_schedule("one-shot", 4), 4, 5, {0, 1, 2, 3}, {4, 1});
  const Schedule both = concurrent("both", {once, ring});
  EXPECT_EQ(both.rounds(), 6);
  EXPECT_TRUE(verify_allreduce(both).ok());
}

TEST(Tracks, DoTogetherWhatTheScheduleDoes) {
  for (const Instance& instance : instances({2, 8, 24})) {
    const Schedule schedule = make_schedule(instance.spec, instance.ranks);
    if (schedule.tracks().empty()) continue;
    Round whole;
    Round part;
    for (int t = 0; t < schedule.rounds(); ++t) {
      for (Rank r = 0; r < schedule.ranks(); ++r) {
        schedule.round(r, t, whole);
        std::vector<Op> of_streams;
        for (const Schedule& track : schedule.tracks()) {
          if (t >= track.rounds()) continue;
          track.round(r, t, part);
          of_streams.insert(of_streams.end(), part.ops().begin(), part.ops().end());
        }
        ASSERT_THAT(whole.ops(), testing::ElementsAreArray(of_streams))
            << instance_name(instance) << ", rank " << r << ", round " << t;
      }
    }
  }
}

TEST(Tracks, TouchDisjointChunks) {
  int schedules = 0;
  for (const Instance& instance : instances({2, 8, 24})) {
    const Schedule schedule = make_schedule(instance.spec, instance.ranks);
    std::vector<int> track_of(static_cast<std::size_t>(schedule.chunks()), -1);
    int s = 0;
    for (const Schedule& track : schedule.tracks()) {
      Round round;
      for (int t = 0; t < track.rounds(); ++t) {
        for (Rank r = 0; r < track.ranks(); ++r) {
          track.round(r, t, round);
          for (const Op& op : round.ops()) {
            for (int c = op.chunks.first; c < op.chunks.first + op.chunks.count; ++c) {
              int& owner = track_of[static_cast<std::size_t>(c)];
              ASSERT_TRUE(owner == -1 || owner == s) << instance_name(instance) << ", chunk " << c;
              owner = s;
            }
          }
        }
      }
      ++s;
    }
    schedules += s > 1 ? 1 : 0;
  }
  EXPECT_GE(schedules, 3);
}

TEST(Tracks, SurviveRenamingTabulationAndAnotherPartition) {
  const Schedule grid = make_schedule("torus:dims=2x3", 6);
  ASSERT_EQ(grid.tracks().size(), 2);
  EXPECT_EQ(grid.named("x").tracks().size(), 2);
  EXPECT_EQ(tabulate(grid).tracks().size(), 2);
  const Schedule cut = grid.with_partition(near_equal_partition(grid.chunks()));
  EXPECT_EQ(cut.tracks().size(), 2);
  EXPECT_TRUE(tracks("one", {make_schedule("ring", 4)}).tracks().empty());
}

TEST(Embed, LeavesRanksWithoutASeatIdle) {
  const Schedule schedule = embed(make_schedule("ring", 2), 4, 2, {3, 1}, {0, 2});
  const Vectors inputs{{1, 1}, {2, 2}, {4, 4}, {8, 8}};
  EXPECT_THAT(play(schedule, inputs), testing::ElementsAre(testing::Each(1), testing::Each(10),
                                                           testing::Each(4), testing::Each(10)));
}

TEST(Embed, RefusesWhatDoesNotFit) {
  const Schedule ring = make_schedule("ring", 2);
  EXPECT_THROW(embed(ring, 4, 2, {0, 1, 2}, {0, 2}), InvalidArgument);  // three members for two
  EXPECT_THROW(embed(ring, 4, 3, {0, 1}, {0, 3}), InvalidArgument);     // 2 chunks in 3
  EXPECT_THROW(embed(ring, 4, 2, {1, 1}, {0, 2}), InvalidArgument);     // twice
  EXPECT_THROW(embed(ring, 4, 2, {1, 4}, {0, 2}), InvalidArgument);     // outside
}

TEST(Mirrored, TurnsReductionsIntoCopiesBackAlongTheSameEdges) {
  const Schedule gather = mirrored(binomial_broadcast(6, 2));
  const auto reducing = [gather](Rank r, int t, Round& out) {
    Round round;
    gather.round(r, t, round);
    for (const Op& op : round.ops()) {
      const OpKind kind = op.kind == OpKind::recv ? OpKind::recv_reduce : op.kind;
      out.push({kind, op.peer, op.chunks});
    }
  };
  const Schedule reduction("reduction", {6, 1, gather.rounds()}, reducing);
  EXPECT_TRUE(verify_allreduce(sequence("both", {reduction, mirrored(reduction)})).ok());
  const Vectors inputs{{1}, {2}, {3}, {4}, {5}, {6}};
  EXPECT_THAT(play(mirrored(reduction), inputs), testing::Each(testing::ElementsAre(3)));
}

TEST(Split, KeepsRoundsAndBytesAndMultipliesMessages) {
  const Schedule ring = make_schedule("halving-doubling", 8);
  const ScheduleCost before = count_cost(ring);
  const ScheduleCost after = count_cost(split(ring, 3));
  EXPECT_EQ(after.rounds, before.rounds);
  EXPECT_EQ(after.max_sent, 3 * before.max_sent);
  EXPECT_EQ(after.total_messages, 3 * before.total_messages);
  EXPECT_THROW(split(ring, 0), InvalidArgument);
}

TEST(Pipelined, AddsOneRoundPerFurtherSegment) {
  const Schedule tree = make_schedule("tree:segments=1", 8);
  EXPECT_EQ(pipelined(tree, 5).rounds(), tree.rounds() + 4);
  EXPECT_EQ(pipelined(tree, 5).chunks(), 5);
  EXPECT_THROW(pipelined(tree, 0), InvalidArgument);
}

TEST(Folded, RefusesMoreThanTwiceTheRanks) {
  const Schedule ring = make_schedule("ring", 4);
  EXPECT_NO_THROW(folded(ring, 7));
  EXPECT_THROW(folded(ring, 8), InvalidArgument);
  EXPECT_THROW(folded(ring, 3), InvalidArgument);
}

}  // namespace
}  // namespace collbench

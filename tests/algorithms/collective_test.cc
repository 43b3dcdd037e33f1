// Every registered algorithm is each collective that its row says, proven; and what is not proven
// is refuted in words.
#include "algorithms/collective.h"

#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/core/refusal.h"

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/halves.h"
#include "algorithms/reduce_scatter.h"
#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "algorithms/rooted.h"
#include "algorithms/verify.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;

constexpr CollectiveKind all_kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                        CollectiveKind::all_gather, CollectiveKind::broadcast,
                                        CollectiveKind::reduce};

// Whether the ranks own equal shares between the halves: butterflies of the powers of two do.
bool has_equal_shares(const std::string& spec, int ranks) {
  const bool folded = (spec.starts_with("halving-doubling") && (ranks & (ranks - 1)) != 0) ||
                      (spec.starts_with("bine") && ranks % 2 != 0 && ranks > 1);
  const bool whole = spec.find("latency") != std::string::npos || spec == "bine:small";
  return !folded && !whole;
}

// Whether an option of it has no meaning for a broadcast or reduce.
bool is_of_all_reduce_alone(const AlgorithmSpec& spec) {
  return spec.options.count("root") > 0 || spec.options.count("small") > 0;
}

class EveryCollective : public testing::TestWithParam<std::string> {};

TEST_P(EveryCollective, IsProvenWhereTheRowSaysSo) {
  const AlgorithmSpec spec = parse_algorithm_spec(GetParam());
  for (const CollectiveKind kind : all_kinds) {
    if (!find_algorithm(spec.name).implements(kind)) continue;
    for (int n = 1; n <= 33; ++n) {
      if (!allows(GetParam(), n)) continue;
      if (!has_root(kind) && !has_equal_shares(GetParam(), n)) continue;
      if (has_root(kind) && spec.name == "bine" && (n & (n - 1)) != 0) continue;
      if (has_root(kind) && is_of_all_reduce_alone(spec)) continue;
      const Collective collective{kind, has_root(kind) ? n / 2 : 0};
      const Schedule schedule = make_schedule(spec, n, Bytes{1 << 20}, collective);
      const Verification proof = verify(schedule, collective);
      ASSERT_TRUE(proof.ok()) << to_string(kind) << " of " << n
                              << " ranks: " << proof.violations[0].what;
    }
  }
}

std::string collective_spec_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryCollective, testing::ValuesIn(tested_specs()),
                         collective_spec_name);

std::string first_violation(const Schedule& schedule, const Collective& collective,
                            const Groups& groups = {}) {
  const Verification proof = verify(schedule, collective, groups);
  return proof.ok() ? "" : proof.violations[0].what;
}

TEST(TreeTest, AChainSendsTheVectorOnceFromRankToRank) {
  const AlgorithmSpec chain = parse_algorithm_spec("tree:chain:segments=4");
  for (const CollectiveKind kind :
       {CollectiveKind::broadcast, CollectiveKind::reduce, CollectiveKind::all_reduce}) {
    for (int n = 1; n <= 9; ++n) {
      const Collective collective{kind, has_root(kind) ? n / 2 : 0};
      const Schedule schedule = make_schedule(chain, n, Bytes{1 << 20}, collective);
      EXPECT_TRUE(verify(schedule, collective).ok()) << to_string(kind) << " of " << n << " ranks";
      if (n > 1 && has_root(kind)) EXPECT_EQ(schedule.rounds(), n - 1 + 4 - 1);
    }
  }
}

TEST(Verify, RefutesOneCollectiveGivenAsAnother) {
  const Phases ring = ring_phases(4);
  EXPECT_THAT(first_violation(ring.reduce_scatter, {}),
              HasSubstr("rank 0 lacks the contribution of rank"));
  EXPECT_THAT(first_violation(ring.all_gather, {CollectiveKind::reduce_scatter}),
              HasSubstr("rank 0 lacks the contribution of rank 1 in chunk 0"));
  EXPECT_THAT(first_violation(ring.reduce_scatter, {CollectiveKind::all_gather}),
              HasSubstr("of which it has no value"));
  EXPECT_THAT(first_violation(binomial_broadcast(4, 1), {CollectiveKind::broadcast, 2}),
              HasSubstr("round 0: rank 1 sends chunk 0, of which it has no value"));
  EXPECT_THAT(first_violation(reduce_to_one(4), {CollectiveKind::reduce, 1}),
              HasSubstr("at the end: rank 1 lacks the contribution of rank 0 in chunk 0"));
  EXPECT_THAT(first_violation(reduce_to_one(4), {CollectiveKind::reduce_scatter}),
              HasSubstr("1 chunks do not divide among 4 ranks"));
}

TEST(Verify, RefutesAnAllGatherThatMixesUpShares) {
  // Two ranks exchange, but rank 1 then overwrites what it has itself.
  const auto play = [](Rank r, int t, Round& out) {
    if (t == 0) out.send(1 - r, {r}), out.recv(1 - r, {1 - r});
    if (t == 1 && r == 0) out.send(1, {0});
    if (t == 1 && r == 1) out.recv(0, {0});
    if (t == 2 && r == 0) out.recv_reduce(1, {1});
    if (t == 2 && r == 1) out.send(0, {1});
  };
  const Schedule schedule("mixed", {2, 2, 3}, play);
  EXPECT_THAT(first_violation(schedule, {CollectiveKind::all_gather}),
              HasSubstr("adds the contribution of rank 1 to chunk 1 twice"));
}

TEST(Verify, ProvesGroupsSideBySideAndRefutesWhatCrossesThem) {
  const Groups groups{{0, 2}, {1, 3}};
  const Schedule ring =
      sequence("ring", {ring_phases(2).reduce_scatter, ring_phases(2).all_gather});
  std::vector<Schedule> parts;
  for (const auto& members : groups) parts.push_back(embed(ring, 4, 2, members, {0, 2}));
  const Schedule both = concurrent("groups", parts);
  EXPECT_EQ(first_violation(both, {}, groups), "");
  EXPECT_THAT(first_violation(both, {}), HasSubstr("rank 0 lacks the contribution of rank 1"));
  EXPECT_THAT(first_violation(both, {}, {{0, 1}, {2, 3}}),
              HasSubstr("rank 0 lacks the contribution of rank 1"));
  EXPECT_THROW(verify(both, {}, {{0, 1}, {1, 3}}), InvalidArgument);
  EXPECT_THROW(verify(both, {CollectiveKind::reduce, 2}, groups), InvalidArgument);
}

TEST(SideBySide, IsProvenForEveryGroup) {
  for (const char* text : {"2x4", "4x2", "0-3;4-7", "0,2,4,6;1,3,5,7"}) {
    const Groups groups = parse_groups(text, 8);
    const int size = group_size(groups, 8);
    const Schedule inner = make_schedule("ring", size);
    EXPECT_EQ(first_violation(side_by_side(inner, groups), {}, groups), "") << text;
    EXPECT_NE(first_violation(side_by_side(inner, groups), {}), "") << text;
  }
  EXPECT_THROW(side_by_side(make_schedule("ring", 3), parse_groups("2x4", 8)), InvalidArgument);
}

TEST(SideBySide, RefusesGroupsThatDoNotHaveEveryRankOnce) {
  const Schedule ring = make_schedule("ring", 2);
  const auto refused = [&](const Groups& groups) {
    return refusal([&] { side_by_side(ring, groups); });
  };
  EXPECT_EQ(refused({{0, 1}, {2, 5}}), "groups: rank 5 is outside or listed twice");
  EXPECT_EQ(refused({{0, -1}, {1, 2}}), "groups: rank -1 is outside or listed twice");
  EXPECT_EQ(refused({{0, 1}, {1, 2}}), "groups: rank 1 is outside or listed twice");
}

TEST(ParseGroups, RefusesWhatLeavesRanksOutOrHasThemTwice) {
  const auto refusal = [](const char* text) {
    try {
      parse_groups(text, 8);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal("2x3"), HasSubstr("2x3 has 6 ranks, and there are 8"));
  EXPECT_THAT(refusal("0-3;3-6"), HasSubstr("rank 3 is in two"));
  EXPECT_THAT(refusal("0-2;3-7"), HasSubstr("not equally large"));
  EXPECT_THAT(refusal("0-1;2-3"), HasSubstr("rank 4 is in none"));
  EXPECT_THAT(refusal("0-3;4-8"), HasSubstr("groups"));
  EXPECT_EQ(parse_groups("", 8).size(), 0U);
}

std::string refusal_of_counts(CollectiveKind kind, const char* text) {
  try {
    with_counts({kind}, text, 3);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Counts, AreOneNumberOfElementsForEachRankOfACollectiveWithShares) {
  const CollectiveKind kind = CollectiveKind::all_gather;
  EXPECT_THAT(with_counts({kind}, "1M, 0,4K", 3).counts, testing::ElementsAre(1 << 20, 0, 4 << 10));
  EXPECT_TRUE(with_counts({kind}, "", 3).counts.empty());
  EXPECT_EQ(sum_of_counts("1M,0,4K"), (1 << 20) + (4 << 10));
  EXPECT_THAT(refusal_of_counts(kind, "1,2"), HasSubstr("1,2 has 2 numbers, and shares are for 3"));
  EXPECT_THAT(refusal_of_counts(kind, "1,-2,3"), HasSubstr("'-2' is negative"));
  EXPECT_THAT(refusal_of_counts(kind, "1,,3"), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of_counts(kind, "1,2KiB,3"), HasSubstr("'2KiB' is a size; counts are of"));
  EXPECT_THAT(refusal_of_counts(kind, "1G,1T,3"), HasSubstr("more than 2^40 elements together"));
  EXPECT_THAT(refusal_of_counts(CollectiveKind::all_reduce, "1,2,3"),
              HasSubstr("all-reduce has none"));
}

// A share is cut as an equal share of its size is, and begins where those before it end.
TEST(Counts, CutEveryShareAsIfAllWereOfItsSize) {
  const Collective collective{CollectiveKind::reduce_scatter, 0, {5000, 0, 3, 70'000}};
  for (const char* name :
       {"ring:segments=3", "direct", "halving-doubling", "ring:bidirectional=1"}) {
    const AlgorithmSpec spec = parse_algorithm_spec(name);
    const Schedule equal = make_schedule(spec, 4, Bytes{0}, {collective.kind});
    const Schedule uneven = make_schedule(spec, 4, Bytes{0}, collective);
    const int pieces = equal.chunks() / 4;
    const std::int64_t sum = 75'003;
    EXPECT_EQ(uneven.partition()(equal.chunks(), sum, 4), sum) << name;
    for (Rank r = 0; r < 4; ++r) {
      const std::int64_t size = collective.counts[static_cast<std::size_t>(r)];
      const Elements share = elements_after(collective, r, 4, sum);
      EXPECT_EQ(share.count, size);
      for (int piece = 0; piece < pieces; ++piece) {
        const int chunk = r * pieces + piece;
        EXPECT_EQ(uneven.partition()(chunk, sum, 4) - share.first,
                  equal.partition()(chunk, 4 * size, 4) - r * size)
            << name << " chunk " << chunk;
      }
    }
  }
}

TEST(Counts, OfANegativeNumberOfElementsAreRefused) {
  const Collective collective{CollectiveKind::reduce_scatter, 0, {10, -3, 3}};
  EXPECT_EQ(refusal([&] {
              make_schedule({"ring", {}}, 3, Bytes{40}, collective);
            }),
            "counts: a share cannot have -3 elements");
}

TEST(Halves, RefuseRanksThatOwnNothing) {
  const std::string refused =
      refusal([] { reduce_scatter_half(make_schedule("halving-doubling", 6)); });
  EXPECT_THAT(refused, HasSubstr("halving-doubling of 6 ranks is not a reduce-scatter into"));
  for (const AlgorithmInfo& info : algorithms()) {
    if (!info.has_shares || info.name == "halving-doubling") continue;
    EXPECT_THAT(refused, testing::ContainsRegex("(: |, )" + std::string(info.name) + "(,|$)"));
  }
}

// Formulas of the papers, counted from the schedules.
TEST(Pat, TakesTheRoundsAndMessagesOfItsPaper) {
  for (const int n : {2, 3, 5, 8, 12, 13, 16, 31, 64}) {
    const int size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)));
    for (int aggregation = 1; aggregation <= size / 2; aggregation *= 2) {
      const Phases phases = pat_phases(n, aggregation);
      for (const Schedule& half : {phases.reduce_scatter, phases.all_gather}) {
        const ScheduleCost cost = count_cost(half);
        const int most =
            std::countr_zero(static_cast<unsigned>(aggregation)) + size / aggregation - 1;
        EXPECT_LE(cost.rounds, most) << n << " ranks, " << aggregation;
        if (n == size) {
          EXPECT_EQ(cost.rounds, most) << n << " ranks, " << aggregation;
        }
        EXPECT_EQ(cost.max_sent, n - 1);
        EXPECT_EQ(cost.total_sent, static_cast<std::int64_t>(n) * (n - 1));
      }
    }
    EXPECT_EQ(pat_phases(n, 1).all_gather.rounds(), n - 1) << "linear without aggregation";
  }
  EXPECT_THROW(pat_phases(8, 3), InvalidArgument);
  EXPECT_THROW(pat_phases(8, 8), InvalidArgument);
}

// Partners meet at |1 - (-2)^(j+1)| / 3, the nearest first, on every rank: two thirds of the way of
// binomial trees.
TEST(Bine, MeetsPartnersAtTheDistancesOfItsPaper) {
  for (const int n : {8, 12, 16, 22, 64}) {
    const Schedule half = reduce_scatter_half(make_schedule("bine", n));
    for (Rank r = 0; r < n; ++r) {
      int distance = 1;
      for (int t = 0; t < half.rounds(); ++t) {
        const ResolvedRound round = resolve(half, r, t);
        for (const Op& op : round.sends()) {
          const int way = ((op.peer - r) % n + n) % n;
          EXPECT_EQ(std::min(way, n - way), std::min(distance % n, n - distance % n))
              << n << " ranks, round " << t;
        }
        distance = t % 2 == 0 ? 2 * distance - 1 : 2 * distance + 1;
      }
    }
  }
}

TEST(Bine, RefusesTreesOfRanksAndRootsThatDoNotExist) {
  EXPECT_EQ(refusal([] { bine_tree_phases(4, 9); }), "bine: the root must be 0 to 3, not 9");
  EXPECT_EQ(refusal([] { bine_tree_phases(4, -1); }), "bine: the root must be 0 to 3, not -1");
  EXPECT_EQ(refusal([] { bine_tree_phases(0, 0); }), "bine: ranks must be at least 1, not 0");
  EXPECT_THAT(refusal([] { bine_tree_phases(6, 0); }), HasSubstr("4 and 8 would fit"));
}

TEST(GridButterfly, RefusesMoreRanksThanThereAreNumbers) {
  EXPECT_THAT(refusal([] {
                halving_doubling({65536, 65536}, 1, DistanceOrder::near);
              }),
              HasSubstr("halving-doubling: the axes have more than 1073741824 ranks together"));
  EXPECT_THAT(refusal([] {
                halving_doubling({32768, 32768}, 2, DistanceOrder::near);
              }),
              HasSubstr("2 streams of 1073741824 chunks are too many"));
}

TEST(Bine, SendsEveryBlockOnceForEveryEvenNumberOfRanks) {
  for (int n = 2; n <= 64; n += 2) {
    const ScheduleCost cost = count_cost(all_gather_half(make_schedule("bine", n)));
    EXPECT_EQ(cost.max_sent, n - 1) << n;
    EXPECT_EQ(cost.rounds, static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)))) << n;
  }
}

TEST(MakeSchedule, RefusesOptionsThatABroadcastWouldNotObey) {
  for (const auto& [spec, why] : {std::pair{"binomial:root=3", "option root is of its all-reduce"},
                                  std::pair{"reduce-broadcast:root=1", "(--root)"},
                                  std::pair{"bine:small", "option small is of its all-reduce"}}) {
    const AlgorithmSpec asked = parse_algorithm_spec(spec);
    const auto make = [&asked] {
      make_schedule(asked, 4, Bytes{64}, {CollectiveKind::broadcast, 0});
    };
    EXPECT_THAT(make, testing::ThrowsMessage<InvalidArgument>(HasSubstr(why))) << spec;
  }
  EXPECT_NO_THROW(make_schedule(parse_algorithm_spec("bine:small=0"), 4, Bytes{64},
                                {CollectiveKind::broadcast, 0}));
}

TEST(MakeSchedule, NamesTheAlgorithmsThatHaveTheCollective) {
  try {
    make_schedule(parse_algorithm_spec("one-shot"), 4, Bytes{64}, {CollectiveKind::reduce_scatter});
    ADD_FAILURE() << "one-shot has no shares";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("one-shot has no reduce-scatter; those that have one: ring"));
  }
}

TEST(ParseCollective, SuggestsTheNameThatWasMeant) {
  EXPECT_EQ(parse_collective("reduce-scatter"), CollectiveKind::reduce_scatter);
  EXPECT_THAT([] { parse_collective("all-gater"); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("Did you mean 'all-gather'")));
}

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::reduce, 4), 1);
}

TEST(SharePartition, GivesEqualSharesUpToOneElement) {
  for (const std::int64_t count : {0, 1, 7, 30, 31, 1000, 12345}) {
    const Partition partition = share_partition(3, 4);
    EXPECT_EQ(partition(0, count, 4), 0);
    EXPECT_EQ(partition(12, count, 4), count);
    for (int c = 0; c < 12; ++c) EXPECT_LE(partition(c, count, 4), partition(c + 1, count, 4));
    for (Rank r = 0; r < 3; ++r) {
      const std::int64_t share = partition(4 * r + 4, count, 4) - partition(4 * r, count, 4);
      EXPECT_GE(share, count / 3);
      EXPECT_LE(share, (count + 2) / 3);
    }
  }
}

}  // namespace
}  // namespace collbench

// Every registered algorithm is each collective that its row says, proven; and what is not proven
// is refuted in words.
#include "algorithms/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"

#include "algorithms/combinators.h"
#include "algorithms/halves.h"
#include "algorithms/reduce_scatter.h"
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
  const bool folded = spec.starts_with("halving-doubling") && (ranks & (ranks - 1)) != 0;
  return !folded && spec.find("latency") == std::string::npos;
}

class EveryCollective : public testing::TestWithParam<std::string> {};

TEST_P(EveryCollective, IsProvenWhereTheRowSaysSo) {
  const AlgorithmSpec spec = parse_algorithm_spec(GetParam());
  for (const CollectiveKind kind : all_kinds) {
    if (!find_algorithm(spec.name).implements(kind)) continue;
    for (int n = 1; n <= 33; ++n) {
      if (!allows(GetParam(), n)) continue;
      if (!has_root(kind) && !has_equal_shares(GetParam(), n)) continue;
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
              HasSubstr("1 chunks are no shares of 4 ranks"));
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

TEST(Halves, RefuseRanksThatOwnNothing) {
  try {
    reduce_scatter_half(make_schedule("halving-doubling", 6));
    ADD_FAILURE() << "6 ranks were accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("halving-doubling of 6 ranks is not a reduce-scatter into"));
  }
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

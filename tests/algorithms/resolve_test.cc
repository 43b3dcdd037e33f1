// What a round means: which operations are one fold, in which order, and what is refused.
#include "algorithms/resolve.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/simulated_ranks.h"
#include "tests/core/refusal.h"

#include "algorithms/exchange/goal.h"
#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/verify.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Rank 3 plays `ops` in the only round; the others send what it receives, in its order.
Schedule one_round(std::vector<Op> ops) {
  const auto play = [ops = std::move(ops)](Rank r, int, Round& out) {
    for (const Op& op : ops) {
      if (r == 3) out.push(op);
      if (r == op.peer && r != 3) out.send(3, op.chunks);
    }
  };
  return {"one round", {4, 4, 1}, play};
}

Op add(Rank from, Chunks chunks) { return {OpKind::recv_reduce, from, chunks}; }
Op store(Rank from, Chunks chunks) { return {OpKind::recv, from, chunks}; }

std::vector<std::vector<Rank>> folds_of(const Schedule& schedule) {
  const ResolvedRound round = resolve(schedule, 3, 0);
  std::vector<std::vector<Rank>> folds;
  for (const Receipt& receipt : round.receipts()) {
    const auto sources = round.sources(receipt);
    folds.emplace_back(sources.begin(), sources.end());
  }
  return folds;
}

std::string refusal_of_round(const Schedule& schedule) {
  return refusal([&] { resolve(schedule, 3, 0); });
}

TEST(Resolve, FoldsInTheOrderWrittenWithTheOwnTermFirstOrAtItsMark) {
  EXPECT_THAT(folds_of(one_round({add(1, {0}), add(0, {0})})), ElementsAre(ElementsAre(3, 1, 0)));
  EXPECT_THAT(folds_of(one_round({add(1, {0}), add(3, {0}), add(0, {0})})),
              ElementsAre(ElementsAre(1, 3, 0)));
}

TEST(Resolve, JoinsAdditionsToOneRangeWhereverTheyStand) {
  EXPECT_THAT(folds_of(one_round({add(0, {0}), add(1, {2}), add(2, {0})})),
              ElementsAre(ElementsAre(3, 0, 2), ElementsAre(3, 1)));
  EXPECT_THAT(folds_of(one_round({add(0, {0}), store(1, {2}), add(3, {0})})),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1)));
}

TEST(Resolve, TakesTheMessagesOfASenderInTheOrderWritten) {
  // Rank 1 sends chunk 2 before chunk 0, so the fold of chunk 2 comes first.
  const Schedule schedule = one_round({add(0, {0}), add(1, {2}), add(1, {0})});
  EXPECT_THAT(folds_of(schedule), ElementsAre(ElementsAre(3, 1), ElementsAre(3, 0, 1)));
}

TEST(Resolve, LeavesOutAFoldOfTheOwnTermAlone) {
  EXPECT_TRUE(folds_of(one_round({add(3, {0})})).empty());
}

TEST(Resolve, RefusesRangesThatOverlapWithoutBeingEqual) {
  EXPECT_THAT(refusal_of_round(one_round({add(0, {0}), add(1, {0, 2}), add(2, {0})})),
              AllOf(HasSubstr("one round: round 0: rank 3 "), HasSubstr("chunk 0"),
                    HasSubstr("chunks 0 to 1")));
  EXPECT_THAT(refusal_of_round(one_round({add(0, {1, 2}), add(1, {0, 2})})),
              AllOf(HasSubstr("chunks 1 to 2"), HasSubstr("chunks 0 to 1")));
  EXPECT_THAT(refusal_of_round(one_round({store(0, {1}), add(1, {1})})),
              AllOf(HasSubstr("stores chunk 1"), HasSubstr("adds to chunk 1")));
  EXPECT_THAT(refusal_of_round(one_round({store(0, {1}), store(1, {1})})),
              HasSubstr("stores chunk 1"));
}

TEST(Resolve, RefusesFoldsWhoseSendersCross) {
  const Schedule crossing = one_round({add(0, {0}), add(1, {1}), add(0, {1}), add(1, {0})});
  EXPECT_THAT(refusal_of_round(crossing),
              AllOf(HasSubstr("rank 3"), HasSubstr("chunk 0"), HasSubstr("chunk 1"),
                    HasSubstr("crossing orders")));
}

TEST(Resolve, RefusesTwoMarksOfTheOwnTerm) {
  EXPECT_THAT(refusal_of_round(one_round({add(3, {2}), add(0, {2}), add(3, {2})})),
              HasSubstr("marks its own term twice in the fold of chunk 2"));
}

TEST(Resolve, RefusesWhatLiesOutsideTheShape) {
  EXPECT_THAT(refusal_of_round(one_round({add(4, {0})})),
              HasSubstr("names peer 4, outside 0 to 3"));
  EXPECT_THAT(refusal_of_round(one_round({add(0, {3, 2})})),
              HasSubstr("chunks 3 to 4, outside 0 to 3"));
  EXPECT_THAT(refusal_of_round(one_round({store(3, {0})})), HasSubstr("from itself"));
}

// The sums of 4 ranks: rank 3 adds `ops` up in one round and copies the result to all.
Schedule sum_at_rank_3(const std::vector<Op>& ops) {
  const Schedule first = one_round(ops);
  const auto play = [first](Rank r, int t, Round& out) {
    if (t == 0) return first.round(r, t, out);
    for (Rank to = 0; r == 3 && to < 3; ++to) out.send(to, {0, 4});
    if (r != 3) out.recv(3, {0, 4});
  };
  return {"sum at rank 3", {4, 4, 2}, play};
}

TEST(Resolve, GivesProofAndOracleTheFoldsOfInterleavedRanges) {
  const Schedule schedule = sum_at_rank_3({add(0, {0, 2}), add(0, {2, 2}), add(2, {0, 2}),
                                           add(1, {0, 2}), add(1, {2, 2}), add(2, {2, 2})});
  const Verification verification = verify_allreduce(schedule);
  ASSERT_TRUE(verification.ok()) << verification.violations[0].what;
  EXPECT_TRUE(verification.replica_consistent);
  const Vectors x = random_vectors(4, 64, 1);
  const Vectors sums = play(schedule, x);
  for (std::size_t i = 0; i < 64; ++i) {
    const float expected = i < 32 ? ((x[3][i] + x[0][i]) + x[2][i]) + x[1][i]
                                  : ((x[3][i] + x[0][i]) + x[1][i]) + x[2][i];
    for (const auto& sum : sums) ASSERT_EQ(sum[i], expected) << i;
  }
}

TEST(Resolve, RefusesForEveryReaderOfASchedule) {
  const Schedule schedule =
      sum_at_rank_3({add(0, {0}), add(1, {0, 2}), add(2, {0}), add(0, {1, 3}), add(1, {2, 2})});
  const Verification verification = verify_allreduce(schedule);
  ASSERT_FALSE(verification.ok());
  EXPECT_THAT(
      verification.violations[0].what,
      AllOf(HasSubstr("round 0: rank 3 "), HasSubstr("chunk 0"), HasSubstr("chunks 0 to 1")));
  EXPECT_THROW(play(schedule, random_vectors(4, 64, 1)), InvalidArgument);
  EXPECT_THROW(count_cost(schedule), InvalidArgument);
  EXPECT_THROW(to_goal(schedule, Bytes{64}), InvalidArgument);
  EXPECT_THROW(to_msccl_xml(schedule), InvalidArgument);
}

}  // namespace
}  // namespace collbench

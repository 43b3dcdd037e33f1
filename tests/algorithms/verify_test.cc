// The verifier catches planted faults: each test breaks one operation of a correct schedule.
#include "algorithms/verify.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// `schedule` with every round of every rank passed through `edit`.
Schedule edited(const Schedule& schedule,
                const std::function<void(Rank, int, std::vector<Op>&)>& edit) {
  const auto play = [schedule, edit](Rank r, int t, Round& out) {
    Round round;
    schedule.round(r, t, round);
    std::vector<Op> ops(round.ops().begin(), round.ops().end());
    edit(r, t, ops);
    for (const Op& op : ops) out.push(op);
  };
  return {"edited", {schedule.ranks(), schedule.chunks(), schedule.rounds()}, play};
}

// Edits the operations of rank `rank` in round `round` only.
Schedule edited_at(const Schedule& schedule, Rank rank, int round,
                   const std::function<void(std::vector<Op>&)>& edit) {
  return edited(schedule, [=](Rank r, int t, std::vector<Op>& ops) {
    if (r == rank && t == round) edit(ops);
  });
}

std::string first_violation(const Schedule& schedule) {
  const Verification verification = verify_allreduce(schedule);
  return verification.ok() ? "none" : verification.violations[0].what;
}

TEST(Verifier, CatchesAReceiveOfAnotherChunkThanWasSent) {
  const auto fault = [](std::vector<Op>& ops) { ops[1].chunks.first = 1; };
  EXPECT_EQ(first_violation(edited_at(make_schedule("ring", 4), 2, 0, fault)),
            "round 0: rank 2 receives chunk 1 from rank 1, which sends chunk 0");
}

TEST(Verifier, CatchesAWrongChunkOnBothSides) {
  const auto shift = [](Rank, int t, std::vector<Op>& ops) {
    if (t != 1) return;
    for (Op& op : ops) op.chunks.first = (op.chunks.first + 1) % 4;
  };
  EXPECT_NE(first_violation(edited(make_schedule("ring", 4), shift)), "none");
}

TEST(Verifier, CatchesAStoreInsteadOfAReduction) {
  const auto fault = [](std::vector<Op>& ops) { ops[1].kind = OpKind::recv; };
  EXPECT_THAT(first_violation(edited_at(make_schedule("ring", 5), 3, 2, fault)),
              HasSubstr("lacks the contribution of rank"));
}

TEST(Verifier, CatchesAReductionInsteadOfAStore) {
  const auto fault = [](std::vector<Op>& ops) { ops[1].kind = OpKind::recv_reduce; };
  EXPECT_THAT(first_violation(edited_at(make_schedule("ring", 5), 3, 5, fault)),
              HasSubstr("adds the contribution of rank"));
}

TEST(Verifier, CatchesADroppedReceive) {
  const auto fault = [](std::vector<Op>& ops) { ops.erase(ops.begin() + 1); };
  EXPECT_EQ(first_violation(edited_at(make_schedule("ring", 4), 2, 1, fault)),
            "round 1: rank 1 sends chunk 3 to rank 2, which does not receive");
}

TEST(Verifier, CatchesADroppedSend) {
  const auto fault = [](std::vector<Op>& ops) { ops.erase(ops.begin()); };
  EXPECT_EQ(first_violation(edited_at(make_schedule("ring", 4), 1, 1, fault)),
            "round 1: rank 2 receives chunk 3 from rank 1, which does not send");
}

TEST(Verifier, CatchesAPlainReceiveIntoASentChunk) {
  const auto play = [](Rank r, int, Round& out) {
    out.send(1 - r, {0});
    out.recv(1 - r, {0});
  };
  EXPECT_EQ(first_violation({"swap", {2, 1, 1}, play}),
            "round 0: rank 0 receives chunk 0, which it also sends in this round");
}

TEST(Verifier, CatchesAPlainReceiveThatOverlapsAnotherReceive) {
  for (const OpKind second : {OpKind::recv, OpKind::recv_reduce}) {
    const auto play = [second](Rank r, int, Round& out) {
      if (r > 0) {
        out.send(0, {r - 1, 2});
      } else {
        out.recv(1, {0, 2});
        out.push({second, 2, {1, 2}});
      }
    };
    EXPECT_THAT(first_violation({"overlap", {3, 3, 1}, play}),
                AllOf(HasSubstr("overlap: round 0: rank 0 "), HasSubstr("chunks 0 to 1"),
                      HasSubstr("chunks 1 to 2")));
  }
}

TEST(Verifier, CatchesAMissingRound) {
  const Schedule ring = make_schedule("ring", 6);
  const auto play = [ring](Rank r, int t, Round& out) { ring.round(r, t, out); };
  const Verification verification = verify_allreduce({"short", {6, 6, ring.rounds() - 1}, play});
  EXPECT_EQ(verification.violations.size(), 6u);
  EXPECT_THAT(verification.violations[0].what, HasSubstr("lacks the contribution"));
}

TEST(Verifier, CatchesIndicesOutsideTheShape) {
  const auto with = [](Op op) {
    const auto play = [op](Rank r, int, Round& out) {
      if (r == 0) out.push(op);
    };
    return first_violation({"outside", {2, 2, 1}, play});
  };
  EXPECT_THAT(with({OpKind::send, 2, {0}}), HasSubstr("names peer 2, outside 0 to 1"));
  EXPECT_THAT(with({OpKind::send, -1, {0}}), HasSubstr("names peer -1"));
  EXPECT_THAT(with({OpKind::send, 0, {0}}), HasSubstr("sends to or receives from itself"));
  EXPECT_THAT(with({OpKind::send, 1, {1, 2}}), HasSubstr("names chunks 1 to 2, outside 0 to 1"));
  EXPECT_THAT(with({OpKind::send, 1, {-1}}), HasSubstr("outside 0 to 1"));
  EXPECT_THAT(with({OpKind::send, 1, {0, 0}}), HasSubstr("outside 0 to 1"));
}

TEST(Verifier, StopsAfterTwentyViolations) {
  const auto idle = [](Rank, int, Round&) {};
  EXPECT_EQ(verify_allreduce({"idle", {50, 50, 1}, idle}).violations.size(), 20u);
}

TEST(Verifier, CatchesEveryDroppedOperationOfEveryAlgorithm) {
  for (const AlgorithmInfo& info : algorithms()) {
    const Schedule schedule = make_schedule(info.name, 8);
    Round round;
    for (Rank r = 0; r < 8; ++r) {
      for (int t = 0; t < schedule.rounds(); ++t) {
        schedule.round(r, t, round);
        const std::vector<Op> ops(round.ops().begin(), round.ops().end());
        for (std::size_t i = 0; i < ops.size(); ++i) {
          if (ops[i].peer == r) continue;  // only marks a place in a fold
          const auto drop = [i](std::vector<Op>& all) {
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
          };
          ASSERT_FALSE(verify_allreduce(edited_at(schedule, r, t, drop)).ok())
              << info.name << " rank " << r << " round " << t << " operation " << i;
        }
      }
    }
  }
}

// Rank r adds what it gets to its own term; `marked` puts the own term in its place by rank.
Schedule exchange_of_all(int ranks, bool marked) {
  const auto play = [ranks, marked](Rank r, int, Round& out) {
    for (Rank peer = 0; peer < ranks; ++peer) {
      if (peer != r) out.send(peer, {0});
      if (peer != r || marked) out.recv_reduce(peer, {0});
    }
  };
  return {"exchange", {ranks, 1, 1}, play};
}

TEST(Verifier, SeesReplicaConsistencyOnlyInRankOrder) {
  EXPECT_TRUE(verify_allreduce(exchange_of_all(4, true)).replica_consistent);
  const Verification unmarked = verify_allreduce(exchange_of_all(4, false));
  EXPECT_TRUE(unmarked.ok());
  EXPECT_FALSE(unmarked.replica_consistent);
  EXPECT_TRUE(verify_allreduce(exchange_of_all(2, false)).replica_consistent);
}

TEST(Verifier, TellsAFoldInOneGroupFromOneThatRoundsBetween) {
  // Ranks 0 and 1 both end with (x0 + x1) + x2: rank 0 in one group; rank 1 in two rounds, rounding
  // x0 + x1 to the element type between them. f16 sums may then differ. Rank 2 copies rank 0's.
  const auto play = [](Rank r, int t, Round& out) {
    const auto exchange = [&out](Rank peer) {
      out.send(peer, {0});
      out.recv_reduce(peer, {0});
    };
    if (t == 0 && r == 0) {
      exchange(1);
      out.recv_reduce(2, {0});
    }
    if (t == 0 && r == 1) exchange(0);
    if (t == 0 && r == 2) out.send(0, {0});
    if (t == 1 && r == 1) out.recv_reduce(2, {0});
    if (t == 1 && r == 2) out.send(1, {0});
    if (t == 2 && r == 0) out.send(2, {0});
    if (t == 2 && r == 2) out.recv(0, {0});
  };
  const Verification verification = verify_allreduce({"two ways", {3, 1, 3}, play});
  EXPECT_TRUE(verification.ok());
  EXPECT_FALSE(verification.replica_consistent);
}

TEST(CountCost, CountsMessagesAndChunksButNotOwnTermMarks) {
  const ScheduleCost cost = count_cost(make_schedule("direct", 5));
  EXPECT_EQ(cost.rounds, 2);
  EXPECT_EQ(cost.max_sent, 8);
  EXPECT_EQ(cost.max_received, 8);
  EXPECT_EQ(cost.max_reduced, 4);
  EXPECT_EQ(cost.max_messages, 8);
  EXPECT_EQ(cost.total_messages, 40);
  EXPECT_EQ(cost.total_sent, 40);
}

}  // namespace
}  // namespace collbench

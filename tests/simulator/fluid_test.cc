// The fluid engine where theory is exact: closed forms without contention, and small contended
// cases computed by hand.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"
#include "tests/simulator/scenarios.h"

#include "algorithms/combinators.h"
#include "core/error.h"
#include "simulator/engines.h"

namespace collbench {
namespace {

constexpr double alpha = 1e-6;      // of plain_star()
constexpr double bandwidth = 50e9;  // of plain_star()

double time_on_star(const std::string& spec, int ranks, std::int64_t bytes,
                    Posting posting = Posting::eager) {
  Scenario scenario = plain_scenario(spec, ranks, bytes, plain_star(ranks));
  scenario.posting = posting;
  return simulate_fluid(scenario).time.count();
}

void expect_relative(double value, double expected) {
  EXPECT_NEAR(value, expected, 1e-9 * expected);
}

class OnStar : public testing::TestWithParam<Posting> {};

TEST_P(OnStar, RingEqualsItsClosedForm) {
  for (const int n : {2, 3, 5, 8, 64, 200}) {
    for (const double m : {4.0, 1048576.0, 1073741824.0}) {
      SCOPED_TRACE(testing::Message() << n << " ranks, " << m << " bytes");
      expect_relative(time_on_star("ring", n, static_cast<std::int64_t>(m), GetParam()),
                      2 * (n - 1) * (alpha + m / (n * bandwidth)));
    }
  }
}

TEST_P(OnStar, HalvingDoublingEqualsItsClosedForm) {
  for (const int n : {2, 4, 16, 128}) {
    for (const double m : {4096.0, 1048576.0}) {
      for (const std::string order : {"near", "far"}) {
        expect_relative(time_on_star("halving-doubling:order=" + order, n,
                                     static_cast<std::int64_t>(m), GetParam()),
                        2 * std::log2(n) * alpha + 2.0 * (n - 1) / n * m / bandwidth);
      }
    }
  }
}

TEST_P(OnStar, RecursiveDoublingEqualsItsClosedForm) {
  expect_relative(time_on_star("recursive-doubling", 64, 1048576, GetParam()),
                  6 * (alpha + 1048576 / bandwidth));
}

TEST_P(OnStar, DirectSharesTheAdapterOfEveryRank) {
  expect_relative(time_on_star("direct", 16, 1048576, GetParam()),
                  2 * (alpha + 15.0 / 16 * 1048576 / bandwidth));
}

TEST_P(OnStar, ReduceBroadcastSharesTheAdapterOfTheRoot) {
  expect_relative(time_on_star("reduce-broadcast", 9, 1048576, GetParam()),
                  2 * (alpha + 8 * 1048576 / bandwidth));
}

INSTANTIATE_TEST_SUITE_P(Postings, OnStar, testing::Values(Posting::eager, Posting::rendezvous),
                         [](const auto& posting) { return std::string(to_string(posting.param)); });

TEST(Fluid, OneRankTakesOnlyTheOverheadOfTheCollective) {
  Scenario scenario = plain_scenario("ring", 1, 4096, plain_star(1));
  scenario.machine.costs.per_collective = Seconds{3e-6};
  const Outcome outcome = simulate_fluid(scenario);
  EXPECT_EQ(outcome.time, Seconds{3e-6});
  EXPECT_EQ(outcome.messages, 0);
}

TEST(Fluid, AnEmptyVectorSendsNothing) {
  const Outcome outcome = simulate_fluid(plain_scenario("ring", 8, 0, plain_star(8)));
  EXPECT_EQ(outcome.messages, 0);
  EXPECT_EQ(outcome.time, Seconds{0});
}

TEST(Fluid, CountsMessagesAndWhatLinksCarried) {
  const int n = 8;
  const Outcome outcome = simulate_fluid(plain_scenario("ring", n, 1 << 20, plain_star(n)));
  EXPECT_EQ(outcome.messages, 2 * n * (n - 1));
  ASSERT_EQ(outcome.links.size(), 2 * n);
  for (const LinkUse& link : outcome.links) {
    expect_relative(link.bytes, 2.0 * (n - 1) / n * (1 << 20));
    expect_relative(link.busy.count(), link.bytes / bandwidth);
  }
  ASSERT_EQ(outcome.round_end.size(), 2 * (n - 1));
  expect_relative(outcome.round_end[0].count(), outcome.time.count() / (2 * (n - 1)));
  EXPECT_EQ(outcome.round_end.back(), outcome.time);
}

TEST(Fluid, NearEqualChunksTakeAsLongAsTheLargest) {
  Scenario scenario = plain_scenario("ring", 4, 10 * 4, plain_star(4));
  scenario.equal_chunks = false;  // 2, 3, 2, 3 elements
  // Every rank waits for its largest message in each round; rounds of a ring shift sizes by one.
  const double time = simulate_fluid(scenario).time.count();
  EXPECT_GT(time, 6 * (alpha + 10 / bandwidth));
  EXPECT_LE(time, 6 * (alpha + 12 / bandwidth) * (1 + 1e-12));
}

TEST(Fluid, LaterReductionsDelayTheNextRound) {
  Scenario scenario = plain_scenario("ring", 8, 1 << 20, plain_star(8));
  scenario.machine.costs.reduction_rate = {10e9};
  scenario.machine.costs.per_collective = Seconds{5e-6};
  const double chunk = (1 << 20) / 8.0;
  expect_relative(simulate_fluid(scenario).time.count(),
                  14 * (alpha + chunk / bandwidth) + 7 * chunk / 10e9 + 5e-6);
}

TEST(Fluid, AMessageKeepsItsRankFromTheNextForTheGap) {
  Scenario scenario = plain_scenario("direct", 8, 1 << 20, plain_star(8));
  const double plain = simulate_fluid(scenario).time.count();
  scenario.machine.costs.message_gap = {Seconds{1e-6}};
  expect_relative(simulate_fluid(scenario).time.count(), plain + 2 * 6e-6);
  // The root of `reduce-broadcast` receives seven, then sends seven.
  scenario = plain_scenario("reduce-broadcast", 8, 1 << 20, plain_star(8));
  const double central = simulate_fluid(scenario).time.count();
  scenario.machine.costs.protocols = {{"LL", 1, {}, {}, "test", {Seconds{1e-6}}}};
  scenario.protocol = "LL";
  expect_relative(simulate_fluid(scenario).time.count(), central + 2 * 6e-6);
}

TEST(Fluid, ProtocolsInflateDelayAndCapMessages) {
  Scenario scenario = plain_scenario("ring", 8, 1 << 20, plain_star(8));
  scenario.machine.costs.wire_factor = 1.1;
  scenario.machine.costs.protocols = {{"LL", 2, {Seconds{5e-7}}, {{20e9}}, "test"}};
  scenario.protocol = "LL";
  const double chunk = (1 << 20) / 8.0;
  expect_relative(simulate_fluid(scenario).time.count(), 14 * (alpha + 5e-7 + 2.2 * chunk / 20e9));
}

TEST(Fluid, AStragglerDelaysWhoWaitsForIt) {
  Scenario scenario = plain_scenario("recursive-doubling", 4, 1 << 20, plain_star(4));
  scenario.posting = Posting::rendezvous;
  scenario.disturbance.stragglers = {{3, Seconds{1e-3}}};
  const double message = (1 << 20) / bandwidth;
  expect_relative(simulate_fluid(scenario).time.count(), 1e-3 + 2 * (alpha + message));
  // Eager: its message of round 1 needs only what came long ago, and shares its adapter with that
  // of round 0; then rank 2 can send its own.
  scenario.posting = Posting::eager;
  expect_relative(simulate_fluid(scenario).time.count(),
                  1e-3 + (alpha + 2 * message) + (alpha + message));
}

TEST(Fluid, TwoMessagesShareALinkEqually) {
  // Ranks 1 and 2 send 1 MB and 3 MB to rank 0. Both get 25 GB/s until the first is there.
  const Schedule schedule = listed_schedule(3, 4, 1, {{0, 1, 0, {0, 1}}, {0, 2, 0, {1, 3}}});
  Scenario scenario = plain_scenario(schedule, plain_star(3));
  scenario.count = 1000000;  // 4 MB
  scenario.equal_chunks = true;
  scenario.trace_limit = 10;
  const Outcome outcome = simulate_fluid(scenario);
  ASSERT_EQ(outcome.transfers.size(), 2);
  EXPECT_EQ(outcome.transfers[0].from, 1);
  expect_relative(outcome.transfers[0].arrival.count(), alpha + 1e6 / 25e9);
  EXPECT_EQ(outcome.transfers[1].from, 2);
  EXPECT_EQ(outcome.transfers[1].ready, Seconds{0});
  expect_relative(outcome.transfers[1].start.count(), alpha);
  expect_relative(outcome.transfers[1].arrival.count(), alpha + 4e6 / 50e9);
}

TEST(Fluid, ATraceKeepsTheFirstArrivals) {
  Scenario scenario = plain_scenario("ring", 4, 4096, plain_star(4));
  scenario.trace_limit = 6;
  const Outcome outcome = simulate_fluid(scenario);
  ASSERT_EQ(outcome.transfers.size(), 6);
  EXPECT_EQ(outcome.transfers[3].round, 0);
  EXPECT_EQ(outcome.transfers[4].round, 1);
}

TEST(Fluid, RendezvousWaitsForTheReceiverAndEagerDoesNot) {
  // Rank 1 is busy with a message from rank 2 when rank 0's second-round message is ready.
  const Schedule schedule = listed_schedule(3, 2, 2, {{0, 2, 1, {0, 1}}, {1, 0, 1, {1, 1}}});
  Scenario scenario = plain_scenario(schedule, plain_star(3));
  scenario.count = 500000;  // 1 MB per chunk
  scenario.equal_chunks = true;
  scenario.posting = Posting::eager;
  expect_relative(simulate_fluid(scenario).time.count(), alpha + 2e6 / bandwidth);
  scenario.posting = Posting::rendezvous;
  expect_relative(simulate_fluid(scenario).time.count(), 2 * (alpha + 1e6 / bandwidth));
}

TEST(Fluid, MessagesOfAPairFollowEachOtherAndTheirLatenciesOverlap) {
  // Rank 0 waits for nothing, so that all its messages to rank 1 are ready at once.
  const Schedule schedule =
      listed_schedule(2, 3, 3, {{0, 0, 1, {0, 1}}, {1, 0, 1, {1, 1}}, {2, 0, 1, {2, 1}}});
  Scenario scenario = plain_scenario(schedule, plain_star(2));
  scenario.count = 750000;  // 1 MB per chunk
  scenario.equal_chunks = true;
  scenario.trace_limit = 3;
  const Outcome outcome = simulate_fluid(scenario);
  ASSERT_EQ(outcome.transfers.size(), 3);
  for (int t = 0; t < 3; ++t) {
    const Transfer& transfer = outcome.transfers[static_cast<std::size_t>(t)];
    EXPECT_EQ(transfer.round, t);
    EXPECT_EQ(transfer.ready, Seconds{0});
    expect_relative(transfer.start.count(), alpha + t * 1e6 / bandwidth);
    expect_relative(transfer.arrival.count(), alpha + (t + 1) * 1e6 / bandwidth);
  }
}

TEST(Fluid, StreamsDoNotWaitForEachOther) {
  // Two exchanges of 2 rounds over links of their own; the second one's messages are 9 times as
  // long. Played as one, its ranks would hold up the first one's.
  const auto exchange = [](Rank peer_of_0, int first, int size) {
    const auto play = [=](Rank r, int, Round& out) {
      const Rank peer = r == 0 ? peer_of_0 : 0;
      if (r != 0 && r != peer_of_0) return;
      out.send(peer, {first + (r == 0 ? 0 : size), size});
      out.recv(peer, {first + (r == 0 ? size : 0), size});
    };
    return Schedule("exchange", {3, 20, 2}, play);
  };
  const std::vector<Schedule> parts{exchange(1, 0, 1), exchange(2, 2, 9)};
  const LinkClass wire{"wire", {bandwidth}, 1, Seconds{alpha}, 0, ""};
  const Machine machine{torus({3}, {true}, {wire}), {}, "", ""};
  const auto time_of_rank_1 = [&](const Schedule& schedule) {
    Scenario scenario = plain_scenario(schedule, machine);
    scenario.count = 5'000'000;  // 1 MB per chunk
    scenario.equal_chunks = true;
    return simulate_fluid(scenario).rank_end[1].count();
  };
  const double longer = alpha + 9e6 / bandwidth;
  const double shorter = alpha + 1e6 / bandwidth;
  expect_relative(time_of_rank_1(tracks("apart", parts)), 2 * shorter);
  expect_relative(time_of_rank_1(concurrent("together", parts)), longer + shorter);
}

std::string refusal_by_fluid(const Schedule& schedule) {
  Scenario scenario = plain_scenario(schedule, plain_star(schedule.ranks()));
  scenario.count = 1000;
  return refusal([&] { simulate_fluid(scenario); });
}

TEST(BadSchedule, AReceiveThatNobodyServesIsNamed) {
  const auto play = [](Rank r, int t, Round& out) {
    if (r == 1 && t == 2) out.recv(0, {3});
  };
  EXPECT_EQ(refusal_by_fluid({"bad", {2, 4, 5}, play}),
            "bad cannot be played: in round 2 rank 1 expects chunks 3 to 3 from rank 0, which does "
            "not send them");
}

TEST(BadSchedule, ASendThatNobodyExpectsIsNamed) {
  const auto play = [](Rank r, int t, Round& out) {
    if (r == 0 && t == 1) out.send(1, {0, 2});
  };
  EXPECT_EQ(refusal_by_fluid({"bad", {2, 4, 3}, play}),
            "bad cannot be played: in round 1 rank 0 sends chunks 0 to 1 to rank 1, which does not "
            "expect them");
}

TEST(BadSchedule, ARoundTooLateIsNoPartner) {
  const auto play = [](Rank r, int t, Round& out) {
    if (r == 0 && t == 1) out.send(1, {0});
    if (r == 1 && t == 0) out.recv(0, {0});
  };
  EXPECT_EQ(refusal_by_fluid({"bad", {2, 4, 3}, play}),
            "bad cannot be played: in round 0 rank 1 expects chunks 0 to 0 from rank 0, which does "
            "not send them");
}

TEST(BadSchedule, EqualNumbersOfMessagesDoNotHideWrongPeers) {
  const auto play = [](Rank r, int, Round& out) {
    out.send((r + 1) % 3, {0});
    out.recv((r + 1) % 3, {0});  // should be the rank behind
  };
  EXPECT_NE(refusal_by_fluid({"bad", {3, 1, 1}, play}).find("rank 0"), std::string::npos);
}

TEST(BadSchedule, RanksAndChunksThatDoNotExistAreNamed) {
  const auto far = [](Rank r, int, Round& out) {
    if (r == 0) out.send(7, {0});
  };
  EXPECT_EQ(refusal_by_fluid({"bad", {2, 1, 1}, far}),
            "bad: round 0: rank 0 names peer 7, outside 0 to 1");
  const auto wide = [](Rank r, int, Round& out) {
    if (r == 0) out.send(1, {3, 2});
  };
  EXPECT_EQ(refusal_by_fluid({"bad", {2, 4, 1}, wide}),
            "bad: round 0: rank 0 names chunks 3 to 4, outside 0 to 3");
  const auto self = [](Rank r, int, Round& out) { out.send(r, {0}); };
  EXPECT_EQ(refusal_by_fluid({"bad", {2, 1, 1}, self}),
            "bad: round 0: rank 0 sends to or receives from itself");
}

TEST(BadSchedule, AdditionsToOverlappingRangesAreRefusedByEveryEngine) {
  const std::vector<Chunks> sent{{0, 1}, {0, 2}, {0, 1}};
  const auto play = [sent](Rank r, int, Round& out) {
    if (r > 0) out.send(0, sent[static_cast<std::size_t>(r - 1)]);
    for (Rank from = 1; r == 0 && from < 4; ++from) {
      out.recv_reduce(from, sent[static_cast<std::size_t>(from - 1)]);
    }
  };
  const Scenario scenario = plain_scenario(Schedule("bad", {4, 2, 1}, play), plain_star(4));
  for (const Engine engine : {Engine::fluid, Engine::quotient, Engine::model}) {
    try {
      simulate(scenario, engine);
      ADD_FAILURE() << "accepted by engine " << static_cast<int>(engine);
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("bad: round 0: rank 0 adds to chunk 0 and "
                                                    "adds to chunks 0 to 1 in one round"));
    }
  }
}

TEST(BadScenario, WrongPlacementsAndProtocolsAreRefused) {
  Scenario scenario = plain_scenario("ring", 4, 4096, plain_star(4));
  scenario.placement = {0, 1, 2};
  EXPECT_THROW(simulate_fluid(scenario), InvalidArgument);
  scenario.placement = {0, 1, 2, 4};
  EXPECT_THROW(simulate_fluid(scenario), InvalidArgument);
  scenario.placement = {0, 1, 2, 3};
  scenario.protocol = "LL";
  EXPECT_THROW(simulate_fluid(scenario), InvalidArgument);
}

TEST(MemoryBudget, RefusesWhatDoesNotFitAndSaysWhat) {
  EXPECT_NO_THROW(require_memory(1 << 20, "this"));
  try {
    require_memory(std::size_t{1} << 60, "a billion messages");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()).rfind("a billion messages would need 1.05e+06 TiB", 0), 0);
  }
}

}  // namespace
}  // namespace collbench

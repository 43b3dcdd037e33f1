// simulate(): which engine it picks and why, and the bottleneck in words.
#include "simulator/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulator/scenarios.h"

#include "core/error.h"
#include "simulator/engines.h"

namespace collbench {
namespace {

using testing::HasSubstr;

TEST(Simulate, FewMessagesArePlayedOneByOne) {
  const Outcome outcome = simulate(plain_scenario("ring", 16, 1 << 20, plain_star(16)));
  EXPECT_EQ(outcome.engine, Engine::fluid);
  EXPECT_EQ(outcome.why, "about 480 messages, few enough to play each of them");
}

TEST(Simulate, ManyMessagesArePlayedByClasses) {
  const Outcome outcome = simulate(plain_scenario("ring", 4096, 1 << 20, plain_star(4096)));
  EXPECT_EQ(outcome.engine, Engine::quotient);
  EXPECT_THAT(outcome.why, HasSubstr("about 3.35e+07 messages"));
  EXPECT_EQ(outcome.messages, 2LL * 4095 * 4096);
}

TEST(Simulate, ManyMessagesOfRanksThatDifferArePlayedOneByOne) {
  // Ranges of chunks that go round the end tell the ranks of `circulant` apart.
  const Outcome outcome =
      simulate(plain_scenario("circulant", 512, 1 << 26, plain_star(512)), Engine::automatic, 1e3);
  EXPECT_EQ(outcome.engine, Engine::fluid);
  EXPECT_EQ(outcome.why, "hardly any ranks and links behave alike, so that each message is played");
}

TEST(Simulate, ChunksOfDifferentSizesAreSaidToTellRoundsApart) {
  Scenario scenario = plain_scenario("ring", 16, 1000, plain_star(16));
  scenario.equal_chunks = false;
  EXPECT_EQ(simulate(scenario, Engine::quotient).why,
            "250 elements do not divide into 16 chunks of one size, which tells all rounds and "
            "many ranks apart; with equal chunks (--equal-chunks) far fewer are played");
  scenario.equal_chunks = true;
  EXPECT_EQ(simulate(scenario, Engine::quotient).why, "");
}

TEST(Simulate, TooManyMessagesOfDifferentChunksAreLeftToTheModel) {
  Scenario scenario = plain_scenario("ring", 16384, 1024, plain_star(16384));
  scenario.equal_chunks = false;
  const Outcome outcome = simulate(scenario);
  EXPECT_EQ(outcome.engine, Engine::model);
  EXPECT_THAT(outcome.why, HasSubstr("256 elements do not divide into 16384 chunks of one size"));
  scenario.equal_chunks = true;
  EXPECT_EQ(simulate(scenario).engine, Engine::quotient);
}

TEST(Simulate, TheModelSaysThatItPostsEagerly) {
  Scenario scenario = plain_scenario("ring", 16, 1 << 20, plain_star(16));
  scenario.posting = Posting::rendezvous;
  EXPECT_THAT(simulate(scenario, Engine::model).why, HasSubstr("posts eagerly"));
  scenario.posting = Posting::eager;
  EXPECT_EQ(simulate(scenario, Engine::model).why, "");
}

// Rank 0 sends 1 MB to rank 1, over a cable of 1 GB/s and a switch whose links have 3 GB/s; rank 2
// sends `kilobytes` over the switch as well.
Scenario spread_scenario(double share_of_cable, int kilobytes) {
  const LinkClass cable{"cable", {1e9}, 1, Seconds{1e-6}, 0, ""};
  const LinkClass port{"port", {3e9}, 1, Seconds{1e-6}, 0, ""};
  const Topology network = graph("net", 3, 4, Layout{.dims = {3}, .wraps = {}}, {cable, port},
                                 {{0, 1, 0, 1}, {0, 3, 1, 1}, {3, 1, 1, 1}, {2, 3, 1, 1}});
  std::vector<Sent> messages{{0, 0, 1, {0, 1000}}};
  if (kilobytes > 0) messages.push_back({0, 2, 1, {1000, kilobytes}});
  Scenario scenario = plain_scenario(
      listed_schedule(3, 1000 + kilobytes, 1, messages),
      {network.with_ways({{{0, 1}, {{share_of_cable, {0}}, {1 - share_of_cable, {2, 4}}}}}),
       {},
       {},
       {}});
  scenario.count = 250 * (1000 + kilobytes);
  scenario.equal_chunks = true;
  return scenario;
}

TEST(Simulate, AMessageTakesAllItsWaysAtOnce) {
  // Rates of 1 and 3 GB/s add up if each way has its part; else the fuller one decides. The latency
  // is that of the longer way.
  EXPECT_NEAR(simulate(spread_scenario(0.25, 0)).time.count(), 2e-6 + 250e-6, 1e-12);
  EXPECT_NEAR(simulate(spread_scenario(0.5, 0)).time.count(), 2e-6 + 500e-6, 1e-12);
  EXPECT_NEAR(simulate(spread_scenario(0.1, 0)).time.count(), 2e-6 + 300e-6, 1e-12);
}

TEST(Simulate, SharesOfWaysCompeteWithOtherMessages) {
  // The last port carries 0.75 MB of rank 0's and 0.6 MB of rank 2's; both rates rise until it is
  // full, where a byte of rank 0's counts 0.75. At 12/7 GB/s rank 2 ends first.
  const Scenario scenario = spread_scenario(0.25, 600);
  EXPECT_EQ(simulate(scenario).engine, Engine::fluid);
  EXPECT_THAT(simulate(scenario).why, HasSubstr("spread over several ways"));
  EXPECT_NEAR(simulate(scenario).time.count(), 2e-6 + 450e-6, 1e-12);
  const Outcome outcome = simulate(scenario);
  EXPECT_NEAR(outcome.links[0].bytes, 250'000, 1e-6);
  EXPECT_NEAR(outcome.links[4].bytes, 1'350'000, 1e-6);
}

TEST(Simulate, TheModelKnowsSeveralWays) {
  EXPECT_NEAR(simulate(spread_scenario(0.25, 0), Engine::model).time.count(), 2e-6 + 250e-6, 1e-12);
}

TEST(Simulate, EnginesThatKnowOneRouteRefuseSeveralWays) {
  for (const Engine engine : {Engine::quotient, Engine::simgrid}) {
    try {
      simulate(spread_scenario(0.25, 0), engine);
      FAIL() << to_string(engine);
    } catch (const InvalidArgument& e) {
      EXPECT_THAT(e.what(), HasSubstr("engine fluid plays messages that are spread"));
    } catch (const Unavailable&) {  // no SimGrid in this build
    }
  }
}

TEST(Simulate, AnEngineThatIsAskedForGivesNoReason) {
  const Outcome outcome =
      simulate(plain_scenario("ring", 16, 1 << 20, plain_star(16)), Engine::fluid);
  EXPECT_EQ(outcome.engine, Engine::fluid);
  EXPECT_EQ(outcome.why, "");
}

TEST(Simulate, NamesOfEnginesAndPostingsAreReadAndWritten) {
  for (const Engine engine :
       {Engine::automatic, Engine::model, Engine::quotient, Engine::fluid, Engine::simgrid}) {
    EXPECT_EQ(parse_engine(to_string(engine)), engine);
  }
  for (const Posting posting : {Posting::eager, Posting::rendezvous}) {
    EXPECT_EQ(parse_posting(to_string(posting)), posting);
  }
  try {
    parse_engine("fluidd");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "unknown engine 'fluidd'. Did you mean 'fluid'? Known are auto, model, quotient, "
                 "fluid, simgrid");
  }
}

std::string bottleneck_of(const Scenario& scenario) {
  return explain_bottleneck(scenario, simulate_fluid(scenario));
}

TEST(Bottleneck, LargeMessagesAreBoundByTheirLink) {
  EXPECT_EQ(bottleneck_of(plain_scenario("ring", 4, 1 << 30, plain_star(4))),
            "The busiest link is host 0 -> switch (link): 100 % of its 50 GB/s over 32.22 ms, 8 "
            "links are used as much. Its bandwidth bounds the time.");
}

TEST(Bottleneck, SmallMessagesAreBoundByLatency) {
  EXPECT_THAT(bottleneck_of(plain_scenario("ring", 4, 4096, plain_star(4))),
              HasSubstr("In the other 98 % of the time nothing flows on it: latency"));
}

TEST(Bottleneck, ACapIsNamed) {
  Scenario scenario = plain_scenario("ring", 4, 1 << 30, plain_star(4));
  scenario.machine.costs.message_cap = {25e9};
  EXPECT_THAT(bottleneck_of(scenario), HasSubstr("While bytes flow on it they take 50 % of it: "
                                                 "the cap of a message, or another link,"));
}

TEST(Bottleneck, TheRootOfAStarIsFound) {
  EXPECT_THAT(bottleneck_of(plain_scenario("reduce-broadcast", 8, 1 << 26, plain_star(8))),
              HasSubstr("(link): 50 % of its 50 GB/s"));
}

TEST(Bottleneck, NothingMovedIsSaid) {
  EXPECT_EQ(bottleneck_of(plain_scenario("ring", 4, 0, plain_star(4))),
            "No link carries anything.");
}

}  // namespace
}  // namespace collbench

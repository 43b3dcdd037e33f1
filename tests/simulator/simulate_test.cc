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

TEST(Simulate, ChunksOfDifferentSizesAreSaidToTellRoundsApart) {
  Scenario scenario = plain_scenario("ring", 16, 1000, plain_star(16));
  scenario.equal_chunks = false;
  EXPECT_EQ(simulate(scenario, Engine::quotient).why,
            "250 elements do not divide into 16 chunks of one size, which tells all rounds and "
            "many ranks apart; with equal chunks (--equal-chunks) far fewer are played");
  scenario.equal_chunks = true;
  EXPECT_EQ(simulate(scenario, Engine::quotient).why, "");
}

TEST(Simulate, TheModelSaysThatItPostsEagerly) {
  Scenario scenario = plain_scenario("ring", 16, 1 << 20, plain_star(16));
  scenario.posting = Posting::rendezvous;
  EXPECT_THAT(simulate(scenario, Engine::model).why, HasSubstr("posts eagerly"));
  scenario.posting = Posting::eager;
  EXPECT_EQ(simulate(scenario, Engine::model).why, "");
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

// SimGrid's actors where theory is exact, with real data, and where a scenario cannot be played.
#include <cmath>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/core/refusal.h"
#include "tests/simulator/scenarios.h"

#include "core/error.h"
#include "simulator/engines.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

constexpr double alpha = 1e-6;      // of plain_star()
constexpr double bandwidth = 50e9;  // of plain_star()

void expect_time(const std::string& spec, int ranks, std::int64_t bytes, double expected) {
  for (const Posting posting : {Posting::eager, Posting::rendezvous}) {
    Scenario scenario = plain_scenario(spec, ranks, bytes, plain_star(ranks));
    scenario.posting = posting;
    const Outcome outcome = simulate_simgrid(scenario);
    EXPECT_NEAR(outcome.time.count(), expected, 1e-9 * expected)
        << spec << " over " << ranks << ", " << to_string(posting);
    EXPECT_EQ(outcome.wrong, -1);
  }
}

TEST(SimgridTest, RingEqualsItsClosedForm) {
  for (const int n : {2, 3, 8, 64}) {
    for (const double m : {4.0, 1048576.0, 1073741824.0}) {
      expect_time("ring", n, static_cast<std::int64_t>(m),
                  2 * (n - 1) * (alpha + m / (n * bandwidth)));
    }
  }
}

TEST(SimgridTest, HalvingDoublingEqualsItsClosedForm) {
  for (const int n : {2, 16, 128}) {
    const double m = 1048576;
    expect_time("halving-doubling", n, 1048576,
                2 * std::log2(n) * alpha + 2.0 * (n - 1) / n * m / bandwidth);
  }
}

TEST(SimgridTest, RecursiveDoublingEqualsItsClosedForm) {
  expect_time("recursive-doubling", 64, 1048576, 6 * (alpha + 1048576 / bandwidth));
}

TEST(SimgridTest, TimesAreExactFromNanosecondsToHours) {
  for (const double slow : {1e-3, 1.0, 1e9}) {
    const LinkClass link{.name = "link",
                         .nominal = {bandwidth / slow},
                         .efficiency = 1,
                         .latency = Seconds{alpha * slow},
                         .level = 0,
                         .source = {}};
    const Scenario scenario = plain_scenario("ring", 8, 1048576, {star(8, link), {}, {}, {}});
    const double expected = slow * 14 * (alpha + 1048576 / (8 * bandwidth));
    EXPECT_NEAR(simulate_simgrid(scenario).time.count(), expected, 1e-9 * expected);
  }
}

class RealData : public testing::TestWithParam<Instance> {};

TEST_P(RealData, IsReducedExactly) {
  const auto& [spec, ranks] = GetParam();
  Scenario scenario = plain_scenario(spec, ranks, 0, plain_star(ranks));
  scenario.equal_chunks = false;
  scenario.real_data = true;
  scenario.count = 1009;
  EXPECT_EQ(simulate_simgrid(scenario).wrong, 0) << "f32, eager";
  scenario.count = 3;
  scenario.type = DataType::f64;
  scenario.posting = Posting::rendezvous;
  EXPECT_EQ(simulate_simgrid(scenario).wrong, 0) << "f64, rendezvous, fewer elements than chunks";
}

INSTANTIATE_TEST_SUITE_P(Registry, RealData, testing::ValuesIn(instances({5, 8})),
                         [](const auto& row) { return instance_name(row.param); });

TEST(SimgridTest, EveryOperatorIsReducedExactly) {
  for (const ReduceOp op : all_reduce_ops()) {
    for (const DataType type : all_data_types()) {
      Scenario scenario = plain_scenario("ring", 6, 0, plain_star(6));
      scenario.equal_chunks = false;
      scenario.real_data = true;
      scenario.type = type;
      scenario.op = op;
      scenario.count = 500;
      EXPECT_EQ(simulate_simgrid(scenario).wrong, 0) << to_string(op) << " " << to_string(type);
    }
  }
}

TEST(SimgridTest, CountsTheElementsOfAScheduleThatIsNoAllReduce) {
  Scenario scenario = plain_scenario(listed_schedule(2, 4, 1, {{0, 0, 1, {0, 2}}}), plain_star(2));
  scenario.real_data = true;
  scenario.count = 40'000;
  // Both ranks hold one contribution where the sum of two belongs.
  EXPECT_GT(simulate_simgrid(scenario).wrong, 79'000);
}

TEST(SimgridTest, WorksFromThreadsAtATime) {
  std::vector<double> times(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < times.size(); ++i) {
    threads.emplace_back([i, &times] {
      times[i] = simulate_simgrid(plain_scenario("ring", 4, 4096, plain_star(4))).time.count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(times, ::testing::Each(times[0]));
}

std::string refusal_by_simgrid(const Scenario& scenario) {
  return refusal([&] { simulate_simgrid(scenario); });
}

TEST(SimgridTest, RefusesAScheduleWithAMessageThatNobodyTakes) {
  const auto lonely = [](Rank r, int, Round& out) {
    if (r == 0) out.send(1, {0, 1});
  };
  Scenario scenario = plain_scenario(Schedule("lonely", {2, 1, 1}, lonely), plain_star(2));
  scenario.count = 10;
  EXPECT_THAT(refusal_by_simgrid(scenario), HasSubstr("does not expect"));
}

TEST(SimgridTest, RefusesRealDataOfEqualChunks) {
  Scenario scenario = plain_scenario("ring", 2, 4096, plain_star(2));
  scenario.real_data = true;
  EXPECT_THAT(refusal_by_simgrid(scenario), HasSubstr("equal chunks have sizes only"));
}

TEST(SimgridTest, RefusesWhatDoesNotFitIntoMemory) {
  const int ranks = 60'000;
  EXPECT_THAT(refusal_by_simgrid(plain_scenario("one-shot", ranks, 4096, plain_star(ranks))),
              HasSubstr("memory"));
}

TEST(SimgridTest, AnEmptyVectorTakesNoTime) {
  const Outcome outcome = simulate_simgrid(plain_scenario("ring", 4, 0, plain_star(4)));
  EXPECT_EQ(outcome.time, Seconds{0});
  EXPECT_EQ(outcome.messages, 0);
}

}  // namespace
}  // namespace collbench

// Groups side by side: as fast as one alone where they share nothing, and slower by what each has
// of a shared link.
#include <string>

#include <gtest/gtest.h>

#include "tests/simulator/scenarios.h"

#include "algorithms/combinators.h"
#include "algorithms/registry.h"
#include "simulator/simulate.h"

namespace collbench {
namespace {

constexpr double wire_alpha = 1e-6;
constexpr double wire_bandwidth = 50e9;
constexpr std::int64_t count = 1 << 18;  // 1 MiB

double time_of(const Schedule& schedule, const Machine& machine, std::vector<Host> hosts,
               Engine engine) {
  Scenario scenario = plain_scenario(schedule, machine);
  if (!hosts.empty()) scenario.placement = std::move(hosts);
  scenario.count = count;
  scenario.equal_chunks = true;
  return simulate(scenario, engine).time.count();
}

class SimulatedGroups : public testing::TestWithParam<Engine> {};

TEST_P(SimulatedGroups, TakeAsLongAsOneAloneWhereTheyShareNothing) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for (const char* name : {"ring", "direct", "halving-doubling"}) {
      const Schedule one =
          make_schedule(AlgorithmSpec{name, {}}, 4, Bytes{count * 4}, Collective{kind});
      const double alone = time_of(one, plain_star(4), {}, GetParam());
      for (const char* groups : {"2x4", "0-3;4-7", "0,2,4,6;1,3,5,7"}) {
        const Schedule both = side_by_side(one, parse_groups(groups, 8));
        EXPECT_NEAR(time_of(both, plain_star(8), {}, GetParam()), alone, 1e-9 * alone)
            << name << ' ' << to_string(kind) << ' ' << groups;
      }
    }
  }
}

// Four hosts in a line: what goes from 0 to 2 and from 1 to 3 shares the link in the middle.
TEST_P(SimulatedGroups, HaveHalfOfALinkThatTwoOfThemShare) {
  const LinkClass wire{"wire", {wire_bandwidth}, 1, Seconds{wire_alpha}, 0, ""};
  const Machine line{torus({4}, {false}, {wire}), {}, "", ""};
  const Schedule exchange = make_schedule("ring", 2);
  const double half = count * 4 / 2.0;
  const double alone = 2 * (2 * wire_alpha + half / wire_bandwidth);
  EXPECT_NEAR(time_of(exchange, line, {0, 2}, GetParam()), alone, 1e-9 * alone);
  const double sharing = 2 * (2 * wire_alpha + half / (wire_bandwidth / 2));
  EXPECT_NEAR(time_of(side_by_side(exchange, {{0, 2}, {1, 3}}), line, {}, GetParam()), sharing,
              1e-9 * sharing);
  const double apart = 2 * (wire_alpha + half / wire_bandwidth);
  EXPECT_NEAR(time_of(side_by_side(exchange, {{0, 1}, {2, 3}}), line, {}, GetParam()), apart,
              1e-9 * apart);
}

// Each share follows the one before it around the ring, so that all wait for the largest.
TEST_P(SimulatedGroups, ARingWithCountsTakesItsLargestShareOnceForEveryStep) {
  const Collective uneven{CollectiveKind::all_gather, 0, {count - 2000, 1000, 0, 1000}};
  Scenario scenario = plain_scenario(
      make_schedule(AlgorithmSpec{"ring", {}}, 4, Bytes{count * 4}, uneven), plain_star(4));
  scenario.count = count;
  const double large = (count - 2000) * 4.0;
  const double expected = 3 * (wire_alpha + large / wire_bandwidth);
  for (const Engine engine : {GetParam(), Engine::model}) {
    EXPECT_NEAR(simulate(scenario, engine).time.count(), expected, 1e-9 * expected)
        << to_string(engine);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, SimulatedGroups, testing::Values(Engine::fluid, Engine::quotient),
                         [](const auto& engine) { return std::string(to_string(engine.param)); });

}  // namespace
}  // namespace collbench

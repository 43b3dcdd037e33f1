// The fluid engine against a slow reference, on random schedules over random networks.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/simulator/random_scenario.h"
#include "tests/simulator/reference_flows.h"

#include "simulator/engines.h"

namespace collbench {
namespace {

void expect_number_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected) + 1e-24) << what;
}

class FluidProperty : public testing::TestWithParam<int> {};

TEST_P(FluidProperty, EqualsTheSlowReference) {
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t seed = GetParam() * 1000 + i;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Scenario scenario = random_scenario(seed);
    const ReferenceResult expected = reference_flows(scenario);
    const Outcome outcome = simulate_fluid(scenario);
    for (std::size_t r = 0; r < expected.rank_end.size(); ++r) {
      expect_number_near(outcome.rank_end[r].count(), expected.rank_end[r], "end of a rank");
    }
    for (std::size_t l = 0; l < expected.link_bytes.size(); ++l) {
      expect_number_near(outcome.links[l].bytes, expected.link_bytes[l], "bytes of a link");
      expect_number_near(outcome.links[l].busy.count(), expected.link_busy[l],
                         "busy time of a link");
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FluidProperty, testing::Range(0, 20));

}  // namespace
}  // namespace collbench

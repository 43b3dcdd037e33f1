// The fluid engine against the slow reference: every algorithm of the registry on real
// family_networks.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/simulator/reference_flows.h"
#include "tests/simulator/scenarios.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "simulator/engines.h"

namespace collbench {
namespace {

struct FamilyNetwork {
  std::string name;
  Topology topology;
};

std::vector<FamilyNetwork> family_networks() {
  const LinkClass link{.name = "link",
                       .nominal = {10e9},
                       .efficiency = 1,
                       .latency = Seconds{5e-7},
                       .level = 0,
                       .source = {}};
  LinkClass slow = link;
  slow.nominal = {3e9};
  const DragonflyLinks cables{1, link};
  return {{"star", star(8, link)},
          {"torus", torus({4, 2}, {true, true}, {link})},
          {"mesh", torus({2, 2, 2}, {false, false, false}, {link})},
          {"fat tree, two to one", fat_tree({4, 2}, {1, 2}, {1, 1}, {link, slow})},
          {"dragonfly", dragonfly(2, 2, 2, 1, {1, slow}, cables, cables, link)}};
}

class OnNetworks : public testing::TestWithParam<std::string> {};

TEST_P(OnNetworks, EqualsTheSlowReference) {
  for (const FamilyNetwork& network : family_networks()) {
    for (const Posting posting : {Posting::eager, Posting::rendezvous}) {
      SCOPED_TRACE(network.name + ", " + std::string(to_string(posting)));
      Scenario scenario = plain_scenario(GetParam(), 8, 100000, {network.topology, {}, {}, {}});
      scenario.posting = posting;
      scenario.equal_chunks = false;
      scenario.machine.costs.reduction_rate = {20e9};
      const Outcome outcome = simulate_fluid(scenario);
      const ReferenceResult expected = reference_flows(scenario);
      for (std::size_t r = 0; r < expected.rank_end.size(); ++r) {
        EXPECT_NEAR(outcome.rank_end[r].count(), expected.rank_end[r], 1e-9 * expected.rank_end[r]);
      }
      for (std::size_t l = 0; l < expected.link_bytes.size(); ++l) {
        EXPECT_NEAR(outcome.links[l].bytes, expected.link_bytes[l], 1e-6);
      }
    }
  }
}

std::vector<std::string> playable() {
  std::vector<std::string> names;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    try {
      make_schedule(algorithm.name, 8);
      names.emplace_back(algorithm.name);
    } catch (const InvalidArgument&) {
      continue;  // needs a parameter
    }
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, OnNetworks, testing::ValuesIn(playable()),
                         [](const auto& algorithm) {
                           std::string name = algorithm.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace collbench

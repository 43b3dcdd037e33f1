// Every shipped machine.
#include <algorithm>
#include <iterator>
#include <limits>
#include <ostream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

#include "topologies/machine_file.h"
#include "topologies/shipped_files.h"
#include "topologies/specification.h"

namespace collbench {

// Found by GoogleTest, which would print the bytes of a file otherwise.
void PrintTo(const ShippedFile& file, std::ostream* out) { *out << file.name; }

namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::SizeIs;

class ShippedTest : public ::testing::TestWithParam<ShippedFile> {
 protected:
  std::string name() const { return std::string(GetParam().name); }
};

TEST_P(ShippedTest, RoutesArePathsBetweenAllPairs) {
  const Machine shipped = machine(name(), 2);
  EXPECT_EQ(broken_route(shipped.topology, 64), "");
  EXPECT_EQ(shipped.topology.name(), name());
}

TEST_P(ShippedTest, EveryNumberHasASource) {
  const Machine shipped = machine(name(), 2);
  EXPECT_GT(shipped.summary.size(), 10U);
  EXPECT_GE(shipped.source.size(), 10U);
  for (const LinkClass& link : shipped.topology.classes()) {
    EXPECT_GE(link.source.size(), 10U) << link.name;
    EXPECT_GT(link.nominal.bytes_per_second, 1e9) << link.name;
  }
  for (const Protocol& protocol : shipped.costs.protocols) {
    EXPECT_GE(protocol.source.size(), 10U) << protocol.name;
  }
  // The parser demands a source of each table, so there are as many as tables that may have
  // numbers.
  const std::string text(GetParam().text);
  const auto count = [&text](const char* pattern) {
    const std::regex expression(pattern, std::regex::multiline);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {});
  };
  EXPECT_EQ(count("^source = \"[^\"]{5,}\"$"), 1 + count("^\\[\\[?[a-z_.]+\\]\\]?$"));
}

INSTANTIATE_TEST_SUITE_P(All, ShippedTest,
                         ::testing::ValuesIn(shipped_files().begin(), shipped_files().end()),
                         [](const auto& shipped) {
                           return std::regex_replace(std::string(shipped.param.name),
                                                     std::regex("-"), "_");
                         });

TEST(ShippedMachinesTest, ThoseWithAFabricReachAllPairsWhenJoined) {
  int joined = 0;
  for (const ShippedFile& file : shipped_files()) {
    const std::string name(file.name);
    if (!describe(name, {.workers = 2}).fabric) continue;
    const Topology three = machine("cluster:3x" + name).topology;
    EXPECT_EQ(broken_route(three, 64), "");
    EXPECT_EQ(summarize(three, route(three, 0, three.hosts() - 1)).level, 1) << name;
    ++joined;
  }
  EXPECT_GE(joined, 12);
}

TEST(ShippedMachinesTest, AreListedByNameWithSummaryAndSource) {
  const std::vector<ShippedMachine> all = shipped_machines();
  EXPECT_GE(all.size(), 30U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const ShippedMachine& shipped : all) {
    EXPECT_FALSE(shipped.summary.empty() || shipped.source.empty()) << shipped.name;
  }
}

// Reached bus bandwidth of the slowest link on a ring, in GB/s, as published.
TEST(ShippedMachinesTest, LinksReachWhatWasMeasured) {
  const auto reached = [](const std::string& spec, Host from, Host to) {
    const Topology t = machine(spec).topology;
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId link : route(t, from, to)) least = std::min(least, t.capacity(link));
    return least / 1e9;
  };
  EXPECT_NEAR(reached("dgx-a100", 0, 1), 232, 2);            // GTC24, slide 12
  EXPECT_NEAR(reached("dgx-h100", 0, 1), 370, 2);            // GTC24, slide 12
  EXPECT_NEAR(reached("hgx-b200", 0, 1), 700, 5);            // GTC25, slide 12
  EXPECT_NEAR(reached("gb200-nvl72", 0, 71), 680, 10);       // GTC25, slide 12
  EXPECT_NEAR(reached("ethernet-100g:4", 0, 3), 10, 0.1);    // GTC24, slide 12
  EXPECT_NEAR(reached("roce-200g:4", 0, 3), 24, 0.1);        // GTC24, slide 12
  EXPECT_NEAR(reached("mi300x", 0, 7) * 7, 312.9, 2);        // ml-engineering
  EXPECT_NEAR(reached("tpu-v7:2x2x1", 0, 2) * 2, 178.4, 1);  // tpu-recipes, both directions
}

TEST(ShippedMachinesTest, TheCubeMeshHasSixNvlinksPerGpu) {
  const Topology t = machine("dgx-1-v100").topology;
  std::vector<float> lanes(8);
  for (const Link& link : t.links()) lanes[static_cast<std::size_t>(link.from)] += link.lanes;
  EXPECT_THAT(lanes, AllOf(SizeIs(8), Each(6.0F)));
}

TEST(ShippedMachinesTest, GpusAndTcpHaveAGapBetweenMessagesToOtherNodes) {
  for (const char* name : {"dgx-1-v100", "dgx-a100", "dgx-h100", "hgx-b200", "mi300x",
                           "ethernet-10g:4", "ethernet-25g:4", "ethernet-100g:4"}) {
    const Costs costs = machine(name).costs;
    ASSERT_EQ(costs.message_gap.size(), 2U) << name;
    EXPECT_EQ(costs.message_gap[0], Seconds{0}) << name;
    EXPECT_GT(costs.message_gap[1], Seconds{0}) << name;
  }
}

TEST(ShippedMachinesTest, ASuperPodIsRailOptimised) {
  const Topology t = machine("superpod-h100:4").topology;
  EXPECT_EQ(route(t, 3, 8 + 3).size(), 2U);  // the same GPU of another node: one switch
  EXPECT_EQ(route(t, 3, 8 + 4).size(), 4U);  // another GPU: over the spine
}

TEST(ShippedMachinesTest, NcclsLadderIsThatOfItsTuner) {
  const Machine h100 = machine("dgx-h100");
  ASSERT_EQ(h100.costs.protocols.size(), 3U);
  const auto step = [&](std::size_t protocol, int level) {
    const Seconds link = level == 0 ? Seconds{0.6e-6} : Seconds{2.7e-6};
    return (link + message_cost(h100.costs, &h100.costs.protocols[protocol], 1, level).latency)
               .count() *
           1e6;
  };
  // NCCL 2.30.7, src/graph/tuning.cc: hwLat of the ring over NVLink and network.
  EXPECT_NEAR(step(0, 0), 0.6, 1e-9);
  EXPECT_NEAR(step(1, 0), 1.9, 1e-9);
  EXPECT_NEAR(step(2, 0), 3.4, 1e-9);
  EXPECT_NEAR(step(0, 1), 2.7, 1e-9);
  EXPECT_NEAR(step(1, 1), 4.0, 1e-9);
  EXPECT_NEAR(step(2, 1), 14.0, 1e-9);
}

// RCCL, src/graph/tuning.cc, tuning_model_5: base latency 12 us, steps of 0.8 (LL) and 2.1 us.
TEST(ShippedMachinesTest, RcclsLadderIsThatOfItsTuner) {
  for (const char* name : {"mi300x", "azure-nd-mi300x-v5", "oci-mi300x"}) {
    const Machine mi300x = machine(name);
    const Costs& costs = mi300x.costs;
    ASSERT_EQ(costs.protocols.size(), 2U) << name << ": LL128 is off";
    EXPECT_EQ(costs.per_collective, Seconds{12e-6}) << name;
    const Seconds link = mi300x.topology.classes().front().latency;
    for (const auto& [rung, us] : {std::pair(0, 0.8), std::pair(1, 2.1)}) {
      const Seconds more =
          message_cost(costs, &costs.protocols[static_cast<std::size_t>(rung)], 1, 0).latency;
      EXPECT_NEAR((link + more).count() * 1e6, us, 1e-9) << name;
    }
    // netOverhead, of which Simple has three.
    const std::vector<Seconds>& of_simple = costs.protocols[1].message_gap;
    ASSERT_EQ(of_simple.size(), 2U) << name;
    EXPECT_EQ(of_simple[1], 2 * costs.message_gap[1]) << name;
  }
}

}  // namespace
}  // namespace collbench

// Maximum flows against all cuts of small graphs.
#include "heuristics/synthesis/max_flow.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace collbench {
namespace {

struct FlowArc {
  int from = 0;
  int to = 0;
  std::int64_t capacity = 0;
};

int drawn_below(std::mt19937& random, int end) {
  return std::uniform_int_distribution<int>(0, end - 1)(random);
}

/// Loops, parallel arcs and capacities of 0 are among them.
std::vector<FlowArc> random_arcs(std::mt19937& random, int vertices) {
  std::vector<FlowArc> arcs(static_cast<std::size_t>(drawn_below(random, 18)));
  for (FlowArc& arc : arcs) {
    arc = {drawn_below(random, vertices), drawn_below(random, vertices), drawn_below(random, 9)};
  }
  return arcs;
}

/// The sets of vertices with vertex 0 and without vertex 1 that the least leads out of, as bits.
struct SmallestCuts {
  std::int64_t capacity = std::numeric_limits<std::int64_t>::max();
  unsigned in_all = ~0U;  // vertices on the source's side of each of them
  unsigned in_any = 0;
};

SmallestCuts smallest_cuts(const std::vector<FlowArc>& arcs, int vertices) {
  SmallestCuts found;
  for (unsigned set = 0; set < 1U << vertices; ++set) {
    if ((set & 3) != 1) continue;
    std::int64_t capacity = 0;
    for (const FlowArc& arc : arcs) {
      if ((set >> arc.from & 1) != 0 && (set >> arc.to & 1) == 0) capacity += arc.capacity;
    }
    if (capacity > found.capacity) continue;
    if (capacity < found.capacity) found = {capacity, ~0U, 0};
    found.in_all &= set;
    found.in_any |= set;
  }
  return found;
}

unsigned bits_of(const std::vector<bool>& vertices) {
  unsigned bits = 0;
  for (std::size_t i = 0; i < vertices.size(); ++i) bits |= vertices[i] ? 1U << i : 0;
  return bits;
}

TEST(MaxFlow, IsTheSmallestCutAndKnowsTheSmallestAndTheLargestSide) {
  std::mt19937 random(17);
  for (int round = 0; round < 2000; ++round) {
    const int vertices = 2 + drawn_below(random, 6);
    const std::vector<FlowArc> arcs = random_arcs(random, vertices);
    MaxFlow<std::int64_t> flow(vertices);
    for (const FlowArc& arc : arcs) flow.set_capacity(flow.add_arc(arc.from, arc.to), arc.capacity);
    const SmallestCuts cuts = smallest_cuts(arcs, vertices);
    EXPECT_EQ(flow.solve(0, 1, 1'000), cuts.capacity) << round;
    EXPECT_EQ(bits_of(flow.reached_from(0)), cuts.in_all) << round;
    EXPECT_EQ(bits_of(flow.not_leading_to(1)), cuts.in_any) << round;
  }
}

TEST(MaxFlow, StopsAtWhatIsEnoughAndBeginsAnewWithOtherCapacities) {
  std::mt19937 random(18);
  for (int round = 0; round < 300; ++round) {
    const int vertices = 2 + drawn_below(random, 6);
    std::vector<FlowArc> arcs = random_arcs(random, vertices);
    MaxFlow<std::int64_t> flow(vertices);
    for (const FlowArc& arc : arcs) flow.add_arc(arc.from, arc.to);
    for (int again = 0; again < 3; ++again) {
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        arcs[i].capacity = drawn_below(random, 9);
        flow.set_capacity(static_cast<int>(i), arcs[i].capacity);
      }
      const std::int64_t enough = drawn_below(random, 12);
      EXPECT_EQ(flow.solve(0, 1, enough), std::min(enough, smallest_cuts(arcs, vertices).capacity));
    }
  }
}

TEST(MaxFlow, GrowsIsTakenBackAndIsLedToAnotherEnd) {
  std::mt19937 random(20);
  for (int round = 0; round < 1000; ++round) {
    const int vertices = 3 + drawn_below(random, 5);
    std::vector<FlowArc> arcs = random_arcs(random, vertices);
    arcs.push_back({2, 1, 1'000});
    MaxFlow<std::int64_t> flow(vertices);
    for (const FlowArc& arc : arcs) flow.set_capacity(flow.add_arc(arc.from, arc.to), arc.capacity);
    flow.clear();
    std::int64_t sent = flow.add_flow(0, 1, drawn_below(random, 5));
    sent -= flow.add_flow(1, 0, drawn_below(random, 5));
    sent += flow.add_flow(0, 1, 1'000);
    EXPECT_EQ(sent, smallest_cuts(arcs, vertices).capacity) << round;
    // The last arc keeps what finds no other way from vertex 2, and no flow as large has less.
    const int last = static_cast<int>(arcs.size()) - 1;
    const std::int64_t ended = flow.flow(last);
    flow.set_arc(last, 0, 0);
    arcs.back().capacity = ended - flow.add_flow(2, 1, ended);
    EXPECT_EQ(sent, smallest_cuts(arcs, vertices).capacity) << round;
    if (--arcs.back().capacity < 0) continue;
    EXPECT_EQ(sent - 1, smallest_cuts(arcs, vertices).capacity) << round;
  }
}

TEST(MaxFlow, SaysWhatCrossesEachArc) {
  std::mt19937 random(19);
  for (int round = 0; round < 500; ++round) {
    const int vertices = 2 + drawn_below(random, 6);
    const std::vector<FlowArc> arcs = random_arcs(random, vertices);
    MaxFlow<std::int64_t> flow(vertices);
    for (const FlowArc& arc : arcs) flow.set_capacity(flow.add_arc(arc.from, arc.to), arc.capacity);
    const std::int64_t enough = drawn_below(random, 12);
    const std::int64_t sent = flow.solve(0, 1, enough);
    std::vector<std::int64_t> gained(static_cast<std::size_t>(vertices), 0);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const std::int64_t crosses = flow.flow(static_cast<int>(i));
      EXPECT_GE(crosses, 0) << round;
      EXPECT_LE(crosses, arcs[i].capacity) << round;
      gained[arcs[i].from] -= crosses;
      gained[arcs[i].to] += crosses;
    }
    EXPECT_EQ(gained[0], -sent) << round;
    EXPECT_EQ(gained[1], sent) << round;
    EXPECT_TRUE(std::all_of(gained.begin() + 2, gained.end(), [](auto v) { return v == 0; }));
  }
}

}  // namespace
}  // namespace collbench

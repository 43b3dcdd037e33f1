// The flow engine on programs made by hand: shares, multiplicities, caps, watches.
#include "simulator/flows.h"

#include <gtest/gtest.h>

namespace collbench {
namespace {

/// Position 0 starts all flows in round 0; position 1 waits for them.
class OneRound : public Program {
 public:
  explicit OneRound(std::vector<double> capacities) : capacities_(std::move(capacities)) {}

  void add(std::vector<LinkPath::Use> links, double bytes, double cap = 0) {
    turn_.sends.push_back({.to = 1,
                           .path = static_cast<std::int32_t>(paths_.size()),
                           .wire_bytes = bytes,
                           .cap = cap,
                           .bytes = bytes});
    paths_.push_back({.links = std::move(links)});
  }

  int positions() const override { return 2; }
  int rounds() const override { return 1; }
  const std::vector<double>& capacities() const override { return capacities_; }
  const std::vector<LinkPath>& paths() const override { return paths_; }
  void turn(int position, int /*round*/, Turn& out) override {
    out.clear();
    if (position == 0) out = turn_;
    if (position == 1) out.arrivals = static_cast<int>(turn_.sends.size());
  }
  Seconds start(int /*position*/) const override { return Seconds{0}; }
  std::int64_t pattern(int round) const override { return round; }

 private:
  std::vector<double> capacities_;
  std::vector<LinkPath> paths_;
  Turn turn_;
};

/// Arrival of each flow, by path, told apart by their bytes.
std::vector<double> arrivals(OneRound& program, const std::vector<double>& bytes) {
  const FlowReport report = play(program, {.trace_limit = 100});
  std::vector<double> result;
  for (const double size : bytes) {
    for (const Transfer& transfer : report.transfers) {
      if (transfer.bytes == size) result.push_back(transfer.arrival.count());
    }
  }
  return result;
}

TEST(Flows, ACapLeavesTheRestOfALinkToOthers) {
  OneRound program({10});
  program.add({{0, 1}}, 20, 2);  // 2 bytes per second for 10 s
  program.add({{0, 1}}, 40);     // 8 bytes per second for 5 s
  EXPECT_EQ(arrivals(program, {20, 40}), (std::vector<double>{10, 5}));
}

TEST(Flows, ThreeLinksShareMaxMinFairly) {
  // Capacities 6, 10 and 4. a crosses all, b the first, c the second, d and e the third.
  // Third link: 4/3 each for a, d, e. First: b gets 6 - 4/3. Second: c gets 10 - 4/3.
  OneRound program({6, 10, 4});
  program.add({{0, 1}, {1, 1}, {2, 1}}, 1);
  program.add({{0, 1}}, 6 - 4.0 / 3);
  program.add({{1, 1}}, 10 - 4.0 / 3);
  program.add({{2, 1}}, 4.0 / 3);
  program.add({{2, 1}}, 8.0 / 3);
  // After 0.75 s the first is done; d and e have moved 1 each and now get 2 bytes per second.
  const std::vector<double> times =
      arrivals(program, {1, 6 - 4.0 / 3, 10 - 4.0 / 3, 4.0 / 3, 8.0 / 3});
  ASSERT_EQ(times.size(), 5);
  EXPECT_NEAR(times[0], 0.75, 1e-12);
  EXPECT_NEAR(times[1], 0.75 + (14.0 / 3 * 0.25) / 6, 1e-12);
  EXPECT_NEAR(times[2], 0.75 + (26.0 / 3 * 0.25) / 10, 1e-12);
  EXPECT_NEAR(times[3], 0.75 + (1.0 / 3) / 2, 1e-12);
  // Then e is alone with 4 bytes per second: 5/3 - 1/3 are left.
  EXPECT_NEAR(times[4], times[3] + (4.0 / 3) / 4, 1e-12);
}

TEST(Flows, AFlowCountsAsOftenAsItsPathUsesALink) {
  OneRound program({12});
  program.add({{0, 3}}, 30);  // together 3 + 1 uses: 3 bytes per second each
  program.add({{0, 1}}, 60);
  // At 10 s the first ends; the second has 30 left and may take 12.
  EXPECT_EQ(arrivals(program, {30, 60}), (std::vector<double>{10, 12.5}));
}

TEST(Flows, OneFlowWithUsesIsAsManyFlows) {
  OneRound program({12});
  program.add({{0, 4}}, 30);
  EXPECT_EQ(arrivals(program, {30}), (std::vector<double>{10}));
}

TEST(Flows, ThoseOfOneWayAndLimitEndInTheOrderOfTheirBytes) {
  // Two limits along one link: 1 byte per second for one flow, and the rest in equal parts.
  OneRound program({10});
  program.add({{0, 1}}, 9);
  program.add({{0, 1}}, 3);
  program.add({{0, 1}}, 21);
  program.add({{0, 1}}, 4, 1);
  // 3 bytes per second each until 1 s, 4.5 until 2 1/3 s, 9 until 3 2/3 s, but for the slow one.
  const std::vector<double> ends = arrivals(program, {9, 3, 21, 4});
  ASSERT_EQ(ends.size(), 4U);
  EXPECT_DOUBLE_EQ(ends[0], 1 + 6 / 4.5);
  EXPECT_DOUBLE_EQ(ends[1], 1);
  EXPECT_DOUBLE_EQ(ends[2], 1 + 6 / 4.5 + 12 / 9.0);
  EXPECT_DOUBLE_EQ(ends[3], 4);
}

TEST(Flows, WithoutLinksOnlyTheCapTakesTime) {
  OneRound program({1});
  program.add({}, 30);
  program.add({}, 40, 4);
  EXPECT_EQ(arrivals(program, {30, 40}), (std::vector<double>{0, 10}));
}

TEST(Flows, TheyEqualWhatLinksCarried) {
  OneRound program({10, 1});
  program.add({{0, 1}}, 20, 2);
  program.add({{0, 1}}, 40);
  const FlowReport report = play(program, {.link_use = true});
  EXPECT_EQ(report.links[0].bytes, 60);
  EXPECT_EQ(report.links[0].busy, Seconds{10});
  EXPECT_EQ(report.links[1].bytes, 0);
  EXPECT_EQ(report.links[1].busy, Seconds{0});
  EXPECT_EQ(report.flows, 2);
  EXPECT_EQ(report.end[0], Seconds{0});
  EXPECT_EQ(report.end[1], Seconds{10});
}

class StopAtTheEndOf : public RoundWatch {
 public:
  bool enters(int position, int round, Seconds time) override {
    seen.push_back({position, round, time.count()});
    return round == 0;
  }
  struct Entry {
    int position;
    int round;
    double time;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> seen;
};

TEST(Flows, AWatchSeesRoundsInOrderAndMayEndThePlay) {
  OneRound program({10});
  program.add({{0, 1}}, 20);
  StopAtTheEndOf watch;
  const FlowReport report = play(program, {.watch = &watch});
  EXPECT_TRUE(report.stopped);
  using Entry = StopAtTheEndOf::Entry;
  ASSERT_GE(watch.seen.size(), 2);
  EXPECT_EQ(watch.seen[0], (Entry{0, 0, 0}));
  EXPECT_EQ(watch.seen[1], (Entry{0, 1, 0}));
}

}  // namespace
}  // namespace collbench

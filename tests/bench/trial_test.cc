// Trials on a team whose times are scripted: what is taken, and what it costs.
#include "bench/measure/trial.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Every iteration of an algorithm takes its time, by a factor that may change from turn to turn.
class TimedTeam final : public Team {
 public:
  explicit TimedTeam(std::map<std::string, double> times_us) : times_us_(std::move(times_us)) {}

  Measurement measure(const Case& point, const Sampling& sampling) override {
    turns_.push_back(point.algorithm);
    samplings_.push_back(sampling);
    if (refused_.count(point.algorithm) > 0) throw Unavailable("not here");
    double time_ns = times_us_.at(point.algorithm) * 1e3 * factor_;
    if (turns_.size() == 1) time_ns *= first_turn_;
    spent_ += Seconds{time_ns * 1e-9 * (sampling.iterations + sampling.warmup)};
    factor_ *= drift_;
    Measurement measured;
    measured.spent_ns = pause_ns_;
    measured.latency_ns.assign(static_cast<std::size_t>(sampling.iterations),
                               static_cast<std::int64_t>(time_ns));
    measured.latency_ns.front() *= turns_.size() == 2 ? first_probe_ : 1;
    return measured;
  }

  std::map<std::string, double> times_us_;
  std::set<std::string> refused_;
  double factor_ = 1;
  double drift_ = 1;              // of the factor, per turn
  double first_turn_ = 1;         // so many times as long
  std::int64_t first_probe_ = 1;  // likewise, of the turn after the first
  std::vector<std::string> turns_;
  std::vector<Sampling> samplings_;
  Seconds spent_{0};
  std::int64_t pause_ns_ = 0;  // of each turn, which its iterations do not show
};

const Choice choice{"direct", "a table says so", {"ring", "tree"}};

Case some_case() {
  Case point;
  point.algorithm = "auto";
  point.bytes = 64_KiB;
  return point;
}

Choice settle(TimedTeam& team, const Sampling& sampling = {}) {
  return try_out(some_case(), choice, sampling, team, [] { return false; });
}

TEST(TrialTest, TakesTheRivalThatIsFasterOnTheTeamAndSaysWhatWasTried) {
  TimedTeam team({{"direct", 20}, {"ring", 18}, {"tree", 21}});
  const Choice settled = settle(team);
  EXPECT_EQ(settled.algorithm, "ring");
  EXPECT_THAT(settled.reason, HasSubstr("ring 18 us when tried here, direct 20 us, tree 21 us"));
  EXPECT_THAT(settled.reason, HasSubstr("without a trial direct: a table says so"));
}

// The machine slows down, so that times of the first turns look better than all later ones.
TEST(TrialTest, TimesOfThoseThatWereDroppedAreMarkedAndDoNotCount) {
  TimedTeam team({{"direct", 22}, {"ring", 10}, {"tree", 10.5}});
  team.drift_ = 1.2;
  const Choice settled = settle(team);
  EXPECT_EQ(settled.algorithm, "ring");
  EXPECT_THAT(settled.reason, testing::ContainsRegex("direct [0-9.]+ us when dropped, tree"));
}

TEST(TrialTest, KeepsTheChoiceWhereTheDifferenceIsNoise) {
  TimedTeam team({{"direct", 20}, {"ring", 19.6}, {"tree", 21}});
  const Choice settled = settle(team);
  EXPECT_EQ(settled.algorithm, "direct");
  EXPECT_THAT(settled.reason, HasSubstr("; a table says so"));
}

TEST(TrialTest, TakesTurnsSoThatDriftHitsAllAlike) {
  TimedTeam team({{"direct", 20}, {"ring", 18}, {"tree", 50}});
  team.drift_ = 1.03;
  EXPECT_EQ(settle(team).algorithm, "ring");
  const std::vector<std::string> first(team.turns_.begin(), team.turns_.begin() + 4);
  EXPECT_THAT(first, ElementsAre("direct", "direct", "ring", "tree"));
  ASSERT_GT(team.turns_.size(), 12);
  for (std::size_t i = 4; i < team.turns_.size(); ++i) {
    EXPECT_EQ(team.turns_[i], i % 2 == 0 ? "direct" : "ring") << i;
  }
}

TEST(TrialTest, StaysWithinItsTimeWhateverATurnTakes) {
  for (const double us : {1.0, 50.0, 500.0, 2e3, 10e3, 15e3}) {
    TimedTeam team({{"direct", us}, {"ring", us}, {"tree", us}});
    settle(team);
    EXPECT_LT(team.spent_, Seconds{0.3}) << us << " us";
    EXPECT_THAT(team.turns_, SizeIs(testing::Gt(3))) << us << " us";
  }
  TimedTeam team({{"direct", 50}, {"ring", 50}, {"tree", 50}});
  Sampling hasty;
  hasty.max_time = Seconds{0.01};
  settle(team, hasty);
  EXPECT_LT(team.spent_, hasty.max_time);
}

TEST(TrialTest, EndsInTimeWhereTurnsWaitForTheMachine) {
  TimedTeam team({{"direct", 20}, {"ring", 10}, {"tree", 30}});
  team.pause_ns_ = 110'000'000;
  EXPECT_EQ(settle(team).algorithm, "ring");
  // A cold one, then those that begin within 0.3 s.
  EXPECT_THAT(team.turns_, ElementsAre("direct", "direct", "ring", "tree"));
  TimedTeam slow({{"direct", 20}, {"ring", 10}, {"tree", 10}});
  slow.pause_ns_ = 310'000'000;
  const Choice settled = settle(slow);
  EXPECT_EQ(settled.algorithm, "direct");
  EXPECT_THAT(settled.reason, HasSubstr("too slow to try close rivals"));
  EXPECT_THAT(slow.turns_, ElementsAre("direct", "direct"));
}

TEST(TrialTest, TriesNothingWhereOneAllReduceIsTooSlow) {
  TimedTeam team({{"direct", 400e3}, {"ring", 1}, {"tree", 1}});
  const Choice settled = settle(team);
  EXPECT_EQ(settled.algorithm, "direct");
  EXPECT_THAT(settled.reason, HasSubstr("at 400 ms it is too slow to try close rivals"));
  EXPECT_THAT(team.turns_, ElementsAre("direct"));
}

TEST(TrialTest, TriesTheFirstRivalsWhereTimeDoesNotSufficeForAll) {
  TimedTeam team({{"direct", 15e3}, {"ring", 10e3}, {"tree", 10e3}});
  EXPECT_EQ(settle(team).algorithm, "ring");
  EXPECT_THAT(team.turns_, testing::Not(testing::Contains("tree")));
}

// The connections of a team are made by whoever plays first.
TEST(TrialTest, TheFirstTurnAndSpikesAmongProbesDoNotCostTheChoice) {
  TimedTeam team({{"direct", 20}, {"ring", 25}, {"tree", 30}});
  team.first_turn_ = 50;
  team.first_probe_ = 10;
  EXPECT_EQ(settle(team).algorithm, "direct");
}

TEST(TrialTest, TurnsAreUncheckedAndNoLongerThanTheCase) {
  TimedTeam team({{"direct", 20}, {"ring", 20}, {"tree", 20}});
  Sampling fixed;
  fixed.iterations = 7;
  settle(team, fixed);
  EXPECT_GT(team.samplings_.size(), 3U);
  for (const Sampling& turn : team.samplings_) {
    EXPECT_LE(turn.iterations, 7);
    EXPECT_FALSE(turn.check);
    EXPECT_FALSE(turn.back_to_back);
  }
}

TEST(TrialTest, ARivalThatIsRefusedDropsOutButTheChoiceThrows) {
  TimedTeam team({{"direct", 20}, {"tree", 15}});
  team.refused_ = {"ring"};
  EXPECT_EQ(settle(team).algorithm, "tree");
  team.refused_ = {"direct"};
  EXPECT_THROW(settle(team), Unavailable);
}

TEST(TrialTest, PlaysNothingWithoutRivalsOrTimeOrWhereFaultsAreInjected) {
  TimedTeam team({{"direct", 20}, {"ring", 10}, {"tree", 20}});
  Sampling off;
  off.trial = Seconds{0};
  EXPECT_EQ(settle(team, off).reason, choice.reason);
  Case faulty = some_case();
  faulty.inject = "kill:rank=1:message=8";
  const auto go_on = [] { return false; };
  EXPECT_EQ(try_out(faulty, choice, {}, team, go_on).algorithm, "direct");
  EXPECT_EQ(try_out(some_case(), {"ring", ""}, {}, team, go_on).algorithm, "ring");
  EXPECT_THAT(team.turns_, IsEmpty());
}

TEST(TrialTest, EndsBetweenTurnsWhenStopped) {
  TimedTeam team({{"direct", 20}, {"ring", 10}, {"tree", 20}});
  const auto stopped = [&] { return team.turns_.size() == 4; };
  EXPECT_EQ(try_out(some_case(), choice, {}, team, stopped).algorithm, "direct");
  EXPECT_THAT(team.turns_, SizeIs(4));
}

}  // namespace
}  // namespace collbench

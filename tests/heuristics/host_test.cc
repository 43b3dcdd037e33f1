// One host as a network: what its cores do, and predictions for other numbers of ranks.
#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "core/error.h"
#include "heuristics/calibration/calibration.h"
#include "heuristics/calibration/fitted_choice.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/policies/policy.h"
#include "heuristics/structure/host_work.h"

namespace collbench {
namespace {

using testing::HasSubstr;

constexpr const char* host_algorithms[] = {
    "ring", "recursive-doubling", "halving-doubling", "double-tree", "direct", "reduce-broadcast"};

CoreWork sum_over_cores(const HostWork& work) {
  CoreWork sum;
  for (const HostRound& round : work.rounds) {
    for (const CoreWork& core : round.cores) {
      sum.sends += round.count * core.sends;
      sum.receipts += round.count * core.receipts;
      sum.sent += round.count * core.sent;
      sum.stored += round.count * core.stored;
      sum.reduced += round.count * core.reduced;
    }
  }
  return sum;
}

TEST(HostWorkTest, OneCoreDoesWhatAllRanksOfTheScheduleDo) {
  for (const char* algorithm : host_algorithms) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
      const Schedule schedule = make_schedule(algorithm, ranks);
      double sends = 0;
      double sent = 0;
      for (int t = 0; t < schedule.rounds(); ++t) {
        for (Rank r = 0; r < ranks; ++r) {
          const ResolvedRound round = resolve(schedule, r, t);
          for (const Op& op : round.sends()) {
            sends += 1;
            sent += 1.0 * op.chunks.count / schedule.chunks();
          }
        }
      }
      const CoreWork all = sum_over_cores(host_work(schedule, 1, Bytes{1 << 20}, false));
      EXPECT_DOUBLE_EQ(all.sends, sends) << algorithm << ' ' << ranks;
      EXPECT_DOUBLE_EQ(all.receipts, sends) << "what is sent arrives once";
      EXPECT_NEAR(all.sent, sent, 1e-9);
      EXPECT_NEAR(all.stored + all.reduced, sent, 1e-9) << algorithm << ' ' << ranks;
    }
  }
}

TEST(HostWorkTest, SharedMemoryFusesWhatItPlaysInOnePass) {
  const HostWork direct = host_work(make_schedule("direct", 8), 2, Bytes{1 << 20}, true);
  EXPECT_EQ(direct.meetings, 2);
  EXPECT_DOUBLE_EQ(direct.pass, 2.0 * 8 / 2) << "8 vectors read and written, by two cores";
  const HostWork rooted = host_work(make_schedule("reduce-broadcast", 8), 2, Bytes{1 << 20}, true);
  EXPECT_DOUBLE_EQ(rooted.pass, 2.0 * 8) << "by the root alone";
  EXPECT_EQ(host_work(make_schedule("ring", 8), 2, Bytes{1 << 20}, true).meetings, 0);
  EXPECT_EQ(host_work(make_schedule("direct", 8), 2, Bytes{1 << 20}, false).meetings, 0);
}

TEST(HostWorkTest, OnlyExchangesIntoWhatIsSentNeedASnapshot) {
  EXPECT_DOUBLE_EQ(
      host_work(make_schedule("recursive-doubling", 4), 4, Bytes{1024}, true).footprint, 2);
  EXPECT_DOUBLE_EQ(host_work(make_schedule("ring", 4), 4, Bytes{1024}, true).footprint, 1);
}

MeasuredTime host_row(const char* library, const char* algorithm, int ranks, std::int64_t bytes) {
  MeasuredTime row;
  row.library = library;
  row.algorithm = algorithm;
  row.scale = {ranks, 1, {}, 2};
  row.bytes = Bytes{bytes};
  return row;
}

/// What a host with these constants would take: each is its prior times 0.7 or 1.4, in turn.
std::vector<MeasuredTime> host_rows(Interconnect interconnect, std::initializer_list<int> ranks) {
  const NetworkModel& model = network_model(interconnect);
  std::vector<double> constants;
  for (const NetworkConstant& constant : model.constants) {
    constants.push_back(constant.prior * (constants.size() % 2 == 0 ? 0.7 : 1.4));
  }
  std::vector<MeasuredTime> rows;
  for (const int n : ranks) {
    for (const char* algorithm : host_algorithms) {
      for (std::int64_t bytes = 1 << 10; bytes <= 32 << 20; bytes *= 8) {
        const char* library = interconnect == Interconnect::host_memory ? "shm" : "grpc";
        MeasuredTime row = host_row(library, algorithm, n, bytes);
        const auto played = played_method(method_of(row), row.scale);
        row.time = Seconds{
            1e-6 * model.microseconds(*played, row.scale, static_cast<double>(bytes), constants)};
        rows.push_back(row);
      }
    }
  }
  return rows;
}

class HostTest : public testing::TestWithParam<Interconnect> {};

TEST_P(HostTest, TwoAndFourRanksTellOfOthers) {
  const Calibration calibration(host_rows(GetParam(), {2, 4}));
  ASSERT_EQ(calibration.structures().size(), 1U);
  EXPECT_EQ(calibration.cores_of(calibration.structures().front().system()), 2);
  std::vector<double> errors;
  for (const MeasuredTime& row : host_rows(GetParam(), {3, 6, 8})) {
    const auto estimate = calibration.estimate(method_of(row), row.scale, row.bytes);
    ASSERT_TRUE(estimate.has_value()) << row.algorithm;
    errors.push_back(estimate->time / row.time - 1);
    EXPECT_LT(estimate->low, estimate->high);
  }
  const ErrorSummary summary = summarize_errors(errors);
  EXPECT_LT(summary.median, 0.06);
  EXPECT_LT(summary.p90, 0.2);
}

TEST_P(HostTest, AFileKeepsTheCoresAndTheFit) {
  const Calibration fitted(host_rows(GetParam(), {2, 4}));
  const auto stored = stored_calibration(to_toml(fitted, "this host", "made"), "host.toml");
  ASSERT_TRUE(stored.has_value());
  const MeasuredTime row = host_rows(GetParam(), {6}).front();
  const Seconds read = stored->estimate(method_of(row), row.scale, row.bytes)->time;
  const Seconds made = fitted.estimate(method_of(row), row.scale, row.bytes)->time;
  EXPECT_NEAR(read / made, 1, 2e-3);
}

TEST_P(HostTest, AnotherNumberOfCoresIsAnotherHost) {
  const Calibration calibration(host_rows(GetParam(), {2, 4}));
  MeasuredTime row = host_rows(GetParam(), {2}).front();
  row.scale.cores = 16;
  EXPECT_EQ(calibration.structure_of(method_of(row), row.scale), nullptr);
}

INSTANTIATE_TEST_SUITE_P(MemoryAndMessages, HostTest,
                         testing::Values(Interconnect::host_memory, Interconnect::host_messages),
                         [](const auto& info) {
                           return std::string(info.param == Interconnect::host_memory ? "Memory"
                                                                                      : "Messages");
                         });

TEST(HostScaleTest, RanksOfAHostGrowWhereNodesGrowElsewhere) {
  const Scale host{6, 1, {}, 2};
  EXPECT_TRUE(host.is_host());
  EXPECT_EQ(host.extent(), 6);
  EXPECT_EQ(to_string(host), "6 ranks on 2 cores");
  EXPECT_EQ((Scale{16, 4}).extent(), 4);
  EXPECT_EQ((Scale{16, 0}).extent(), 1) << "nodes that are not known count as one";
  const Calibration calibration(host_rows(Interconnect::host_memory, {2, 4}));
  const MethodKey ring = method_of(host_row("shm", "ring", 8, 1024));
  EXPECT_THAT(calibration.estimate(ring, {8, 1, {}, 2}, Bytes{1024})->extrapolates,
              HasSubstr("8 ranks, measured with 2 to 4"));
  EXPECT_THAT(calibration.structures().front().basis(),
              HasSubstr("of 6 methods on 2, 4 ranks on 2 cores"));
}

TEST(HostScaleTest, OfTwoHostsInAFileTheCoresAreThoseOfTheOneThatIsAsked) {
  std::vector<MeasuredTime> rows = host_rows(Interconnect::host_memory, {2});
  for (MeasuredTime& row : rows) row.system = "a";
  for (MeasuredTime& row : host_rows(Interconnect::host_memory, {2, 4})) {
    row.system = "b";
    row.scale.cores = 64;
    rows.push_back(row);
  }
  const Calibration calibration(rows);
  EXPECT_EQ(calibration.cores_of("a"), 2);
  EXPECT_EQ(calibration.cores_of("b"), 64);
  Question question;
  question.bytes = Bytes{256 << 10};
  question.workers = 4;
  question.fitted = &calibration;
  std::string why_not;
  const auto answer = ask_fitted(question, why_not);
  ASSERT_TRUE(answer.has_value()) << why_not;
  EXPECT_THAT(answer->reason, HasSubstr("by the fit to b"));
  question.cores = 2;
  EXPECT_FALSE(ask_fitted(question, why_not).has_value());
  EXPECT_THAT(why_not, HasSubstr("4 ranks on 2 cores"));
}

TEST(HostScaleTest, OfOneSystemOnTwoNumbersOfCoresTheOneThatIsTakenIsNamed) {
  std::vector<MeasuredTime> rows = host_rows(Interconnect::host_memory, {2, 4});
  for (MeasuredTime& row : host_rows(Interconnect::host_memory, {2})) {
    row.scale.cores = 8;
    row.time *= 0.1;
    rows.push_back(row);
  }
  const Calibration calibration(rows);
  const Calibration of_two_cores(host_rows(Interconnect::host_memory, {2, 4}));
  EXPECT_EQ(fit_machine(calibration).node_rate.value, fit_machine(of_two_cores).node_rate.value);
  Question question;
  question.bytes = Bytes{256 << 10};
  question.workers = 2;
  question.fitted = &calibration;
  std::string why_not;
  EXPECT_THAT(ask_fitted(question, why_not)->warnings,
              testing::Contains("fitted to hosts of 2 and 8 cores; this is one of 2, which have "
                                "the most points"));
  question.cores = 8;
  EXPECT_THAT(ask_fitted(question, why_not)->warnings, testing::IsEmpty());
}

TEST(HostScaleTest, TheChoiceOnAHostIsAmongWhatRanksThere) {
  const Calibration calibration(host_rows(Interconnect::host_memory, {2, 4}));
  std::vector<MethodKey> methods;
  for (const MeasuredMethod& each : calibration.measured()) methods.push_back(each.method);
  const auto ranked = rank_methods(calibration, methods, {8, 1, {}, 2}, Bytes{1 << 20});
  ASSERT_EQ(ranked.size(), std::size(host_algorithms));
  EXPECT_EQ(ranked.front().method.algorithm, "direct") << "one pass beats rounds in memory";
}

TEST(HostScaleTest, WhatWasFastestStaysUnlessAnotherIsSurelyFaster) {
  std::vector<MeasuredTime> rows = host_rows(Interconnect::host_messages, {2, 4});
  // As fast as each other at the largest scale, but for 1 %, at every size.
  std::map<Bytes, Seconds> least;
  for (const MeasuredTime& row : rows) {
    if (row.scale.ranks != 4) continue;
    Seconds& time = least.try_emplace(row.bytes, row.time).first->second;
    time = std::min(time, row.time);
  }
  for (MeasuredTime& row : rows) {
    if (row.algorithm == "ring" && row.scale.ranks == 4) row.time = least.at(row.bytes) * 0.99;
  }
  const Calibration calibration(rows);
  std::vector<MethodKey> methods;
  for (const MeasuredMethod& each : calibration.measured()) methods.push_back(each.method);
  int kept = 0;
  int overruled = 0;
  for (const int ranks : {5, 64}) {
    for (std::int64_t bytes = 1 << 10; bytes <= 32 << 20; bytes *= 8) {
      const auto ranked = rank_methods(calibration, methods, {ranks, 1, {}, 2}, Bytes{bytes});
      const FittedCandidate& first = ranked.front();
      if (first.is_kept) {
        EXPECT_EQ(first.method.algorithm, "ring");
        EXPECT_GT(first.counted, ranked[1].counted);
        EXPECT_LT(first.estimate.low, ranked[1].estimate.high) << "the intervals overlap";
        ++kept;
      } else if (first.method.algorithm != "ring") {
        ++overruled;
      }
    }
  }
  EXPECT_GT(kept + overruled, 0);
  EXPECT_GT(overruled, 0) << "126 rounds of 64 ranks are surely too many for short vectors";
}

}  // namespace
}  // namespace collbench

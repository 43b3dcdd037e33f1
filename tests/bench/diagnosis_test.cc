// Diagnoses of tables with known health: the distribution of errors, and faults put into published
// tables. results/studies/diagnosis has the rates over all tables known.
#include "heuristics/diagnosis/diagnosis.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/bench/diagnosis_tables.h"
#include "tests/bench/plain_faults.h"

#include "core/error.h"
#include "heuristics/diagnosis/suspicion_list.h"
#include "heuristics/diagnosis/table_cases.h"
#include "heuristics/diagnosis/weighing.h"

namespace collbench {
namespace {

const std::vector<KnownTable>& published_tables() {
  static const std::vector<KnownTable> tables =
      read_known_tables(COLLBENCH_SOURCE_DIR "/tests/bench/diagnosis_tables.txt");
  return tables;
}

std::vector<KnownTable> healthy_tables() {
  std::vector<KnownTable> healthy;
  for (const KnownTable& known : published_tables()) {
    if (known.healthy) healthy.push_back(known);
  }
  return healthy;
}

std::vector<Deviation> flat_curve(double log_ratio) {
  std::vector<Deviation> curve;
  for (int x = 6; x <= 32; ++x) curve.push_back({1.0 * x, x < 16 ? 1.0 : 0.0, log_ratio});
  return curve;
}

TEST(ModelErrorTest, HalfOfTheMeasurementsAreBelowTheMedianAndTheIntervalWidensBetweenProtocols) {
  const ModelError error;
  for (const Deviation& at : flat_curve(0)) {
    EXPECT_NEAR(error_quantile(error, at, 0.5), 1, 1e-9);
    EXPECT_GT(error_quantile(error, at, 0.9), 1.08);
    EXPECT_NEAR(error_quantile(error, at, 0.1) * error_quantile(error, at, 0.9), 1, 1e-6);
  }
  EXPECT_GT(error_quantile(error, {20, 0.3, 0}, 0.9), error_quantile(error, {32, 0, 0}, 0.9) * 1.1);
}

// A factor that all sizes share is likelier than the same factor at one size in two.
TEST(ModelErrorTest, SharedErrorsAreLikelierThanScatteredOnes) {
  const ModelError error;
  std::vector<Deviation> scattered = flat_curve(0.1);
  for (std::size_t i = 0; i < scattered.size(); i += 2) scattered[i].log_ratio = -0.1;
  const double shared = log_likelihood(error, flat_curve(0.1));
  EXPECT_GT(log_likelihood(error, flat_curve(0)), shared);
  EXPECT_GT(shared, log_likelihood(error, scattered) + 10);
}

// A cliff of a protocol costs as one deviation; of a square, the second step would cost three times
// as much as the first.
TEST(ModelErrorTest, OneRowFarOffDoesNotOutweighAllOthers) {
  const ModelError error;
  const auto with_row = [&](double log_ratio) {
    std::vector<Deviation> curve = flat_curve(0);
    curve[14].log_ratio = log_ratio;
    return log_likelihood(error, curve);
  };
  EXPECT_LT(with_row(1), with_row(0) - 2);
  EXPECT_LT(with_row(1) - with_row(2), with_row(0) - with_row(1));
}

// A library would rather send a vector in two halves, or a larger one.
TEST(ModelErrorTest, TimesThatFallOrMoreThanDoubleAreSeldomHealthy) {
  const std::vector<Bytes> sizes = {{1024}, {2048}, {4096}};
  const auto log_of = [&](double first, double second, double third) {
    return log_of_steps(sizes,
                        std::vector<double>{std::log(first), std::log(second), std::log(third)});
  };
  EXPECT_NEAR(log_of(1, 1, 2), 0, 1e-12);
  EXPECT_NEAR(log_of(1, 1.5, 1.6), 0, 1e-12);
  EXPECT_LT(log_of(1, 3, 4), -3);
  EXPECT_LT(log_of(1, 2, 1.4), -3);
  EXPECT_LT(log_of(1, 3, 2), 1.9 * log_of(1, 3, 4)) << "both, and each counts";
  EXPECT_GT(log_of(1, 30, 40), -5) << "a cliff counts as one, however high";
}

TEST(DiagnosisRatesTest, AtMostOneOfThePublishedHealthyTablesIsCalledUnhealthy) {
  int false_alarms = 0;
  int within = 0;
  int points = 0;
  for (const KnownTable& known : healthy_tables()) {
    const Diagnosis found = diagnose(case_of(known));
    false_alarms += found.healthy ? 0 : 1;
    for (const JudgedSize& size : found.sizes) {
      within += size.verdict == "as expected" ? 1 : 0;
      ++points;
    }
  }
  EXPECT_LE(false_alarms, 1);
  EXPECT_GE(points, 250);
  EXPECT_GT(within, 0.7 * points);
  EXPECT_LT(within, 0.92 * points);
}

/// How many faults were drawn, called unhealthy, named first, and named at all.
struct DiagnosisRates {
  int all = 0;
  int unhealthy = 0;
  int first = 0;
  int named = 0;
  int as_fact = 0;  // the one name said, and wrong
};

/// Of each cause `draws` faults, if a published table can have it (none is of one node with NVLS).
/// What a table cannot show is in the counts, too.
template <class Draw, class Judge>
DiagnosisRates rates_of(const std::vector<std::string>& causes, int draws, Draw draw, Judge judge) {
  DiagnosisRates rates;
  for (const std::string& cause : causes) {
    for (int i = 0; i < draws; ++i) {
      const std::optional<TableFault> fault = draw(cause);
      if (!fault) continue;
      ++rates.all;
      const Diagnosis found = judge(fault->table);
      if (found.healthy) continue;
      ++rates.unhealthy;
      rates.first += cause == found.causes.front().cause->name ? 1 : 0;
      const std::vector<std::string>& group = found.cause_group;
      const bool named = std::find(group.begin(), group.end(), cause) != group.end();
      rates.named += named ? 1 : 0;
      rates.as_fact += !named && group.size() == 1 ? 1 : 0;
    }
  }
  return rates;
}

Diagnosis from_table_alone(const KnownTable& table) { return diagnose(case_of(table)); }

TEST(DiagnosisRatesTest, FaultsPutIntoPublishedTablesAreFoundAndMostlyNamed) {
  const std::vector<KnownTable> healthy = healthy_tables();
  RandomEngine random = random_engine(42, "faults");
  const auto draw = [&](const std::string& cause) { return inject(cause, healthy, random); };
  const DiagnosisRates rates = rates_of(injected_causes(), 4, draw, from_table_alone);
  ASSERT_GE(rates.all, 45);
  EXPECT_GT(rates.unhealthy, 0.8 * rates.all);
  EXPECT_GT(rates.named, 0.8 * rates.all);
  EXPECT_LE(rates.as_fact, 0.05 * rates.all);
}

// Without a model of the library in the faults: before suspicions were plain, too, half of them had
// a wrong name.
TEST(DiagnosisRatesTest, FaultsMadeWithoutAModelAreFoundAndMostlyNamed) {
  const std::vector<KnownTable> healthy = healthy_tables();
  RandomEngine random = random_engine(44, "faults");
  const auto draw = [&](const std::string& cause) { return inject_plain(cause, healthy, random); };
  const DiagnosisRates rates = rates_of(plain_causes(), 4, draw, from_table_alone);
  ASSERT_GE(rates.all, 44);
  EXPECT_GT(rates.unhealthy, 0.85 * rates.all);
  EXPECT_GT(rates.first, 0.6 * rates.all);
  EXPECT_GT(rates.named, 0.8 * rates.all);
  EXPECT_LE(rates.as_fact, 0.05 * rates.all);
}

// What the model misses of a system, its healthy table has.
TEST(DiagnosisRatesTest, WithAHealthyTableOfTheSystemMostCausesAreFirst) {
  const std::vector<KnownTable> healthy = healthy_tables();
  RandomEngine random = random_engine(43, "faults");
  const auto draw = [&](const std::string& cause) { return inject(cause, healthy, random); };
  const auto judge = [&](const KnownTable& table) {
    DiagnosisCase given = case_of(table);
    for (const KnownTable& known : healthy) {
      if (known.name == table.name) judge_by_healthy(given, known.table);
    }
    return diagnose(given);
  };
  const DiagnosisRates rates = rates_of(injected_causes(), 3, draw, judge);
  ASSERT_GE(rates.all, 34);
  EXPECT_GT(rates.unhealthy, 0.9 * rates.all);
  EXPECT_GT(rates.first, 0.8 * rates.all);
}

/// 10 us, and 100 GB/s at large sizes.
Seconds healthy_time(Bytes bytes) {
  return Seconds{10e-6 + static_cast<double>(bytes.count) / 100e9};
}

TEST(SuspicionListTest, PlainFaultsReachTheLatencyAndTheRateTheySayInFourWays) {
  const std::vector<Bytes> sizes = {{8}, {1 << 20}, {1 << 23}, {std::int64_t{1} << 32}};
  SuspicionList list(sizes);
  list.add_healthy("as it should be", 1, healthy_time);
  list.add_plain("gdr_off", 1, "half, and twice as late", {0.5, 2});
  list.weigh(1, true);
  std::vector<Suspicion> all = list.take();
  EXPECT_TRUE(all.back().is_unexplained);
  all.pop_back();
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_NEAR(all[i].latency / all[0].latency, 2, 0.01) << i;
    EXPECT_NEAR(all[i].times.back() / all[0].times.back(), 2, 0.01) << i;
    EXPECT_GE(all[i].times[1], all[0].times[1]) << i;
    EXPECT_LE(all[i].times[1], 2.01 * all[0].times[1]) << i;
  }
  // Between the ends they differ: the longer of two times is the least of what they may cost.
  EXPECT_LT(all[4].times[1], 0.8 * all[1].times[1]);
}

TEST(SuspicionListTest, ACauseIsAsFrequentWithPlainSuspicionsAsWithout) {
  const auto frequency = [](bool modelled, bool plain) {
    const std::vector<Bytes> sizes = {{8}, {1 << 20}, {1 << 23}};
    SuspicionList list(sizes);
    list.add_healthy("as it should be", 1, healthy_time);
    if (modelled) {
      list.add("congestion", 3, "slower", [](Bytes bytes) { return 2 * healthy_time(bytes); });
    }
    if (plain) list.add_plain("congestion", 7, "slower", {0.5});
    list.weigh(1, false);
    double sum = 0;
    double of_model = 0;
    for (const Suspicion& each : list.take()) {
      if (each.cause == nullptr || each.is_unexplained) continue;
      if (sum == 0) of_model = each.weight;
      sum += each.weight;
    }
    if (modelled && plain) {
      EXPECT_NEAR(of_model, sum / 2, 1e-12);
    }
    return sum;
  };
  EXPECT_NEAR(frequency(true, true), frequency(true, false), 1e-12);
  EXPECT_NEAR(frequency(true, true), frequency(false, true), 1e-12);
}

TEST(DiagnosisTest, ByItsOwnHealthyTableASystemIsHealthyWhateverTheModelSays) {
  for (const KnownTable& known : published_tables()) {
    DiagnosisCase given = case_of(known);
    judge_by_healthy(given, known.table);
    const Diagnosis found = diagnose(given);
    EXPECT_TRUE(found.healthy) << known.name;
    EXPECT_NEAR(found.busbw.bytes_per_second / found.expected_busbw.bytes_per_second, 1, 0.05)
        << known.name;
  }
  DiagnosisCase given = case_of(published_tables().front());
  EXPECT_THROW(judge_by_healthy(given, published_tables().back().table), InvalidArgument)
      << "another scale";
}

/// The first healthy table of that many ranks and nodes, with a fault put in.
template <class Change>
Diagnosis with_change(Scale scale, Change change) {
  for (KnownTable known : healthy_tables()) {
    if (known.table.times.front().scale != scale) continue;
    for (MeasuredTime& row : known.table.times) {
      row.time = row.time * change(row.bytes);
      row.low = row.high = row.time;
    }
    return diagnose(case_of(known));
  }
  throw InvalidArgument("no such table");
}

// Half as long again is within what the model misses there; that the time falls behind it is not.
TEST(DiagnosisTest, AHoleBetweenSizesThatAreWellIsFoundByItsEdges) {
  const Diagnosis found = with_change({32, 4}, [](Bytes bytes) {
    return bytes.count >= 1 << 18 && bytes.count < 1 << 21 ? 1.6 : 1.0;
  });
  ASSERT_FALSE(found.healthy) << found.sure;
  EXPECT_STREQ(found.causes.front().cause->name, "switch_misplaced");
}

TEST(DiagnosisTest, CausesThatTakeAShareOfTheRateAreRankedTogetherAndSaidToBeAlike) {
  EXPECT_EQ(curve_of("nic_affinity"), curve_of("congestion"));
  EXPECT_EQ(curve_of("nic_affinity"), curve_of("nic_missing"));
  EXPECT_EQ(curve_of("straggler"), "straggler");
  const Diagnosis found = with_change({32, 8}, [](Bytes bytes) {
    return 1 + static_cast<double>(bytes.count) / static_cast<double>(bytes.count + (8 << 20));
  });
  ASSERT_FALSE(found.healthy);
  ASSERT_GE(found.causes.size(), 2U);
  EXPECT_EQ(curve_of(found.causes[0].cause->name), "nic_missing");
  EXPECT_EQ(curve_of(found.causes[1].cause->name), "nic_missing");
  EXPECT_NE(found.undecided.find("first two takes a share of the network's rate"),
            std::string::npos)
      << found.undecided;
}

/// What a fault that suspicions describe as `first` leaves, where `second` costs the same but for
/// `apart` at the largest size.
Diagnosis between_causes(double apart) {
  KnownTable known = healthy_tables().front();
  DiagnosisCase given = case_of(known);
  const Suspicion healthy = given.suspicions.front();
  given.suspicions.assign(3, healthy);
  given.suspicions[1].cause = &cause("gdr_off");
  given.suspicions[2].cause = &cause("throttled");
  for (std::size_t i = 0; i < healthy.times.size(); ++i) {
    given.suspicions[1].times[i] = 3 * healthy.times[i];
    given.suspicions[2].times[i] = (i < 12 ? 3 : 3 * apart) * healthy.times[i];
  }
  const std::vector<Bytes> sizes = sizes_of(given.rows);
  for (MeasuredTime& row : given.rows) {
    const auto at = std::lower_bound(sizes.begin(), sizes.end(), row.bytes) - sizes.begin();
    row.time = given.suspicions[1].times[static_cast<std::size_t>(at)];
    row.low = row.high = row.time;
  }
  return diagnose(given);
}

TEST(DiagnosisTest, CausesThatFitAboutAsWellAreNamedTogetherAndNeitherIsSaidAsAFact) {
  const Diagnosis alike = between_causes(1.02);
  ASSERT_FALSE(alike.healthy);
  EXPECT_EQ(alike.cause_group, (std::vector<std::string>{"gdr_off", "throttled"}));
  EXPECT_NE(alike.undecided.find("alike within 2 % at its sizes"), std::string::npos)
      << alike.undecided;
  EXPECT_NE(alike.undecided.find("(--healthy)"), std::string::npos) << alike.undecided;

  const Diagnosis near = between_causes(1.12);
  ASSERT_EQ(near.cause_group.size(), 2U);
  EXPECT_LT(near.causes[1].sure, 0.5);
  EXPECT_NE(near.undecided.find("by 12 %"), std::string::npos) << near.undecided;

  const Diagnosis apart = between_causes(4);
  EXPECT_EQ(apart.cause_group, (std::vector<std::string>{"gdr_off"}));
  EXPECT_EQ(apart.undecided, "");
  EXPECT_LT(1 - apart.causes.front().sure, 1 / told_from);
}

TEST(DiagnosisTest, ALateRankThatOnlySomeIterationsShowIsReadFromTheSpread) {
  KnownTable known = healthy_tables().front();
  for (MeasuredTime& row : known.table.times) {
    row.low = row.time;
    row.time += Seconds{300e-6};
    row.high = row.low + Seconds{3e-3};
  }
  const Diagnosis found = diagnose(case_of(known));
  ASSERT_FALSE(found.healthy);
  EXPECT_EQ(found.cause_group, std::vector<std::string>{"straggler"});
  EXPECT_NE(found.causes.front().seen.find("300 us above it"), std::string::npos)
      << found.causes.front().seen;
}

TEST(DiagnosisTest, TellsOfTimesThatAreNotTheSameTwice) {
  KnownTable known = healthy_tables().front();
  EXPECT_TRUE(diagnose(case_of(known)).notes.empty());
  for (MeasuredTime& row : known.table.times) {
    if (row.in_place) row.time = 3 * row.time;
  }
  const Diagnosis found = diagnose(case_of(known));
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes.front().find("differ by a factor of 3.0 in the median"), std::string::npos)
      << found.notes.front();
}

TEST(DiagnosisTest, RefusesATableWithoutRightRows) {
  DiagnosisCase given = case_of(healthy_tables().front());
  for (MeasuredTime& row : given.rows) row.wrong = 1;
  EXPECT_THROW(diagnose(given), InvalidArgument);
}

TEST(FloorsTest, BelongToTheGpusAndTheScaleTheyWerePublishedFor) {
  const auto busbw = [](const char* hardware, Scale scale) {
    std::vector<double> all;
    for (const VendorFloor& floor : floors_of(hardware, scale)) all.push_back(floor.busbw_GBps);
    return all;
  };
  EXPECT_EQ(busbw("cluster:2xdgx-h100", {16, 2}), (std::vector<double>{440, 365}));
  EXPECT_EQ(busbw("hgx-h200", {8, 1}), (std::vector<double>{431}));
  EXPECT_EQ(busbw("aws-p5", {8, 1}), (std::vector<double>{460, 370, 480}));
  EXPECT_EQ(busbw("2x GCP A3 Ultra", {8, 1}), (std::vector<double>{431}));  // H200, not as A3 Mega
  EXPECT_TRUE(busbw("alps-gh200", {4, 1}).empty());
  EXPECT_TRUE(busbw("dgx-h100", {32, 4}).empty());
}

TEST(FloorsTest, DevicesNameTheirMachineWhereItIsKnown) {
  EXPECT_EQ(machine_of_gpus("NVIDIA H100 80GB HBM3", 8), "dgx-h100");
  EXPECT_EQ(machine_of_gpus("NVIDIA H200", 8), "hgx-h200");
  EXPECT_EQ(machine_of_gpus("NVIDIA GH200 120GB", 4), "alps-gh200");
  EXPECT_EQ(machine_of_gpus("Tesla V100-SXM2-16GB", 4), "abci-v100");
  EXPECT_EQ(machine_of_gpus("NVIDIA B300 SXM6 AC", 8), "dgx-b300");
  EXPECT_EQ(machine_of_gpus("NVIDIA GB300", 4), "gb300-nvl72");
  EXPECT_EQ(machine_of_gpus("NVIDIA H100 PCIe", 8), "");
  EXPECT_EQ(machine_of_gpus("NVIDIA H100 NVL", 2), "");
  EXPECT_EQ(machine_of_gpus("NVIDIA GeForce RTX 4090", 8), "");
  EXPECT_EQ(machine_of_gpus("", 8), "");
}

}  // namespace
}  // namespace collbench

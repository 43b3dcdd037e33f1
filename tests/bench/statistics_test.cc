// Rank tests and change points against figures of SciPy, and their properties.
#include <algorithm>
#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/verdicts/statistics_changes.h"
#include "bench/verdicts/statistics_ranks.h"
#include "bench/verdicts/statistics_shifts.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/quantile.h"
#include "core/random.h"

namespace collbench {
namespace {

using Json = nlohmann::json;
using Values = std::vector<double>;

constexpr double tolerance = 1e-9;

const Json& figures() {
  static const Json all = [] {
    return parse_json<Json>(read_file(COLLBENCH_SOURCE_DIR "/tests/bench/statistics_figures.json"));
  }();
  return all;
}

/// A figure that is null is an end that nothing bounds.
void expect_end(double end, const Json& figure) {
  if (figure.is_null()) {
    EXPECT_TRUE(std::isinf(end)) << end;
  } else {
    EXPECT_NEAR(end, figure.get<double>(), tolerance);
  }
}

TEST(StatisticsFigures, MannWhitneyAgrees) {
  ASSERT_EQ(figures().at("mann_whitney").size(), 10u);
  for (const Json& figure : figures().at("mann_whitney")) {
    const auto first = figure.at("first").get<Values>();
    const auto second = figure.at("second").get<Values>();
    SCOPED_TRACE(testing::Message() << first.size() << " against " << second.size());
    const RankTest test = mann_whitney(first, second);
    EXPECT_EQ(test.exact, figure.at("exact").get<bool>());
    EXPECT_NEAR(test.statistic, figure.at("statistic"), tolerance);
    EXPECT_NEAR(test.p_greater, figure.at("p_greater"), tolerance);
    EXPECT_NEAR(test.p_less, figure.at("p_less"), tolerance);
    // Chances in the far tail are what Holm compares: they agree relatively too.
    EXPECT_NEAR(test.p_less / figure.at("p_less").get<double>(), 1, tolerance);
  }
}

TEST(StatisticsFigures, HodgesLehmannAgrees) {
  int bounded = 0;
  for (const Json& figure : figures().at("mann_whitney")) {
    const Shift shift =
        hodges_lehmann(figure.at("first").get<Values>(), figure.at("second").get<Values>(), 0.95);
    EXPECT_NEAR(shift.estimate, figure.at("shift"), tolerance);
    if (!figure.contains("low")) continue;
    expect_end(shift.low, figure.at("low"));
    expect_end(shift.high, figure.at("high"));
    bounded += std::isfinite(shift.low) ? 1 : 0;
  }
  EXPECT_GE(bounded, 4);
}

TEST(StatisticsFigures, EquivalenceAgrees) {
  for (const Json& figure : figures().at("mann_whitney")) {
    if (!figure.contains("margin")) continue;
    // Two one-sided tests against a shift by the margin (TOST): the larger chance of both.
    const auto second = figure.at("second").get<Values>();
    auto below = figure.at("first").get<Values>();
    auto above = below;
    for (double& value : below) value -= figure.at("margin").get<double>();
    for (double& value : above) value += figure.at("margin").get<double>();
    EXPECT_NEAR(std::max(mann_whitney(below, second).p_greater, mann_whitney(above, second).p_less),
                figure.at("equivalence_p"), tolerance);
  }
}

TEST(StatisticsFigures, WilcoxonAgrees) {
  for (const Json& figure : figures().at("wilcoxon")) {
    const auto differences = figure.at("differences").get<Values>();
    SCOPED_TRACE(differences.size());
    const RankTest test = wilcoxon(differences);
    EXPECT_EQ(test.exact, figure.at("exact").get<bool>());
    EXPECT_NEAR(test.statistic, figure.at("statistic"), tolerance);
    EXPECT_NEAR(test.p_greater, figure.at("p_greater"), tolerance);
    EXPECT_NEAR(test.p_less, figure.at("p_less"), tolerance);
    const Shift shift = walsh_shift(differences, 0.95);
    EXPECT_NEAR(shift.estimate, figure.at("shift"), tolerance);
    if (!figure.contains("low")) continue;
    expect_end(shift.low, figure.at("low"));
    expect_end(shift.high, figure.at("high"));
  }
}

TEST(StatisticsFigures, HolmQuantilesNormalAndStudentAgree) {
  for (const Json& figure : figures().at("holm")) {
    const Values adjusted = holm(figure.at("p").get<Values>());
    EXPECT_THAT(adjusted, testing::Pointwise(testing::DoubleNear(tolerance),
                                             figure.at("adjusted").get<Values>()));
  }
  for (const Json& figure : figures().at("quantile")) {
    EXPECT_NEAR(quantile(figure.at("values").get<Values>(), figure.at("part")), figure.at("value"),
                tolerance);
  }
  for (const Json& figure : figures().at("normal")) {
    EXPECT_NEAR(normal_cdf(figure.at("z")), figure.at("p"), tolerance);
    EXPECT_NEAR(normal_quantile(figure.at("p")), figure.at("z"), 1e-6);
  }
  for (const Json& figure : figures().at("student")) {
    EXPECT_NEAR(student_two_sided(figure.at("t"), figure.at("df")), figure.at("p"), tolerance);
  }
}

TEST(StatisticsFigures, EnergyAndItsSignificanceAgree) {
  for (const Json& figure : figures().at("changes")) {
    const auto series = figure.at("series").get<Values>();
    const Values energy = energy_of_splits(series, figure.at("first_split"));
    EXPECT_THAT(energy, testing::Pointwise(testing::DoubleNear(tolerance),
                                           figure.at("energy").get<Values>()));
    const auto best =
        static_cast<std::size_t>(figure.at("first_split").get<long>() +
                                 (std::max_element(energy.begin(), energy.end()) - energy.begin()));
    EXPECT_EQ(best, figure.at("best").get<std::size_t>());
    const std::span<const double> all(series);
    EXPECT_NEAR(t_test(all.first(best), all.subspan(best)), figure.at("p"), tolerance);
  }
}

/// How many candidates lie below a value, and how many below or at it.
template <typename Candidate>
std::pair<std::size_t, std::size_t> counts_to(double value, const Values& first,
                                              const Values& second, const Candidate& candidate) {
  std::pair<std::size_t, std::size_t> counts;
  for (std::size_t i = 0; i < second.size(); ++i) {
    // Each pair of one sample counts once.
    for (std::size_t j = &first == &second ? i : 0; j < first.size(); ++j) {
      const double one = candidate(first[j], second[i]);
      counts.first += one < value ? 1 : 0;
      counts.second += one <= value ? 1 : 0;
    }
  }
  return counts;
}

// Above some millions of pairs the candidates are counted, not listed.
TEST(Statistics, ShiftsOfManyValuesAreThoseOfTheListOfAllPairs) {
  RandomEngine random = random_engine(9, "statistics");
  std::normal_distribution<double> noise(0, 0.3);
  Values first(2101);
  Values second(2001);
  for (double& value : first) value = std::round(noise(random) * 1e3) / 1e3;  // some are equal
  for (double& value : second) value = noise(random) + 0.01;
  const auto expect_at = [](std::size_t place, const std::pair<std::size_t, std::size_t>& counts) {
    EXPECT_LE(counts.first, place);
    EXPECT_GT(counts.second, place);
  };
  const auto expect = [&](const Shift& shift, std::size_t pairs, std::size_t k, auto count) {
    expect_at(k - 1, count(shift.low));
    expect_at(pairs - k, count(shift.high));
    if (pairs % 2 == 1) expect_at(pairs / 2, count(shift.estimate));
  };
  expect(shift_by_differences(first, second, 1, 12345), 2101 * 2001, 12345, [&](double value) {
    return counts_to(value, first, second, [](double a, double b) { return b - a; });
  });
  first.resize(2901, 0.125);
  expect(shift_by_means(first, 54321), 2901 * 2902 / 2, 54321, [&](double value) {
    return counts_to(value, first, first, [](double a, double b) { return (a + b) / 2; });
  });
}

TEST(Statistics, TheIntervalHoldsTheShiftsThatTheTestDoesNotRefute) {
  RandomEngine random = random_engine(7, "statistics");
  std::lognormal_distribution<double> noise(0, 0.3);
  Values first(12);
  Values second(9);
  for (double& value : first) value = noise(random);
  for (double& value : second) value = noise(random);
  const Shift shift = hodges_lehmann(first, second, 0.95);
  for (const double moved :
       {shift.low - 1e-9, shift.low + 1e-9, shift.high - 1e-9, shift.high + 1e-9}) {
    Values back = second;
    for (double& value : back) value -= moved;
    const RankTest test = mann_whitney(first, back);
    const bool inside = moved > shift.low && moved < shift.high;
    EXPECT_EQ(std::min(test.p_less, test.p_greater) > 0.025, inside) << moved;
  }
}

/// P(sum of U >= at least) by going through all ways to part each block's six values.
double chance_by_counting(int blocks, double at_least) {
  std::vector<double> ways = {1};  // by the sum of U so far
  for (int block = 0; block < blocks; ++block) {
    std::vector<double> next(ways.size() + 9, 0.0);
    for (unsigned chosen = 0; chosen < 64; ++chosen) {
      int members = 0;
      int u = 0;
      for (int place = 0; place < 6; ++place) {
        if ((chosen >> place & 1U) == 0) continue;
        u += place - members++;
      }
      if (members != 3) continue;
      for (std::size_t sum = 0; sum < ways.size(); ++sum) {
        next[sum + static_cast<std::size_t>(u)] += ways[sum] / 20;
      }
    }
    ways = std::move(next);
  }
  double chance = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    if (static_cast<double>(sum) >= at_least) chance += ways[sum];
  }
  return chance;
}

TEST(Statistics, InBlocksOnlyValuesOfOneBlockMeet) {
  // Three blocks of 3 and 3, of which the second and third took 100 and 10,000 times as long.
  const Values first = {1, 5, 3, 120, 180, 160, 10'000, 40'000, 20'000};
  const Values second = {2, 4, 6, 130, 190, 200, 30'000, 50'000, 60'000};
  const RankTest test = mann_whitney(first, second, 3);
  EXPECT_EQ(test.statistic, 6 + 7 + 8);
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(test.p_greater, chance_by_counting(3, 21), tolerance);
  EXPECT_NEAR(test.p_less, 1 - chance_by_counting(3, 22), tolerance);
  // One block hides in the spread of the levels what three show.
  EXPECT_GT(mann_whitney(first, second).p_greater, 3 * test.p_greater);
  EXPECT_THROW(mann_whitney(first, second, 2), InvalidArgument);
  EXPECT_THROW(hodges_lehmann(first, second, 0.95, 0), InvalidArgument);
}

TEST(Statistics, InBlocksTheIntervalHoldsWhatIsNotRefutedForFewAndForMany) {
  for (const std::size_t blocks : {10u, 1000u}) {  // exact and normal
    RandomEngine random = random_engine(8, "blocks");
    std::normal_distribution<double> noise;
    Values first(2 * blocks);
    Values second(2 * blocks);
    for (std::size_t i = 0; i < first.size(); ++i) {
      const double level = 10.0 * static_cast<double>(i / 2 % 7);
      first[i] = level + noise(random);
      second[i] = level + noise(random) + 0.25;
    }
    const Shift shift = hodges_lehmann(first, second, 0.95, blocks);
    EXPECT_GT(shift.high, shift.estimate);
    EXPECT_NEAR(shift.estimate, 0.25, blocks > 10 ? 0.1 : 1);
    for (const double moved : {shift.low - 1e-3, shift.low + 1e-3, shift.high + 1e-3}) {
      Values back = second;
      for (double& value : back) value -= moved;
      const RankTest test = mann_whitney(first, back, blocks);
      EXPECT_EQ(test.exact, blocks == 10);
      const bool inside = moved > shift.low && moved < shift.high;
      EXPECT_EQ(std::min(test.p_less, test.p_greater) > 0.0251, inside) << moved;
    }
  }
}

TEST(Statistics, ASmallSampleWithEqualValuesShowsNoMoreThanItsPlacesAllow) {
  // One value above twenty equal ones: the normal distribution would say less than 1e-5.
  Values level(20, 100.0);
  const RankTest above = mann_whitney(level, Values{101.0});
  EXPECT_TRUE(above.exact);
  EXPECT_NEAR(above.p_greater, 1.0 / 21, tolerance);
  EXPECT_EQ(above.p_less, 1);
  level[3] = level[9] = 101.0;
  EXPECT_NEAR(mann_whitney(level, Values{101.0}).p_greater, 3.0 / 21, tolerance);
  EXPECT_NEAR(mann_whitney(Values{100.0}, level).p_greater, 19.0 / 21, tolerance);
  // Of the ten ways to choose two of {1, 1, 2, 2, 3}, two take the 3 and a 2.
  EXPECT_NEAR(mann_whitney(Values{1, 1, 2}, Values{2, 3}).p_greater, 2.0 / 10, tolerance);
  // In blocks the chances of independent choices multiply.
  EXPECT_NEAR(mann_whitney(Values{1, 1, 5, 5}, Values{2, 2, 6, 6}, 2).p_greater, 1.0 / 36,
              tolerance);
}

// The normal distribution says 4.9e-4, of which Holm shows nothing among 21 cases at 1 %.
TEST(Statistics, EightAgainstEightWithEqualValuesShowAllThatTheirPlacesAllow) {
  const RankTest test =
      mann_whitney(Values{1, 1, 2, 2, 3, 3, 4, 4}, Values{5, 5, 6, 6, 7, 7, 8, 8});
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(test.p_greater, 1.0 / 12'870, tolerance);
}

TEST(Statistics, OfTwoSamplesWithEqualValuesTheSmallerOneIsChosen) {
  Values many;
  for (int i = 0; i < 1000; ++i) many.push_back(i / 2);
  const Values few = {3, 600, 700};
  const RankTest less = mann_whitney(few, many);
  const RankTest greater = mann_whitney(many, few);
  EXPECT_TRUE(less.exact);
  EXPECT_NEAR(less.p_less, greater.p_greater, tolerance);
  EXPECT_NEAR(less.p_greater, greater.p_less, tolerance);
  EXPECT_NEAR(mann_whitney(Values{2, 3}, Values{1, 1, 2}).p_less, 2.0 / 10, tolerance);
}

// The normal distribution says 0.0070 of eight positive differences and 0.0039 of the eleven.
TEST(Statistics, EqualDifferencesAreCountedAsExactlyAsOthers) {
  const RankTest all = wilcoxon(Values{1, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_TRUE(all.exact);
  EXPECT_NEAR(all.p_greater, 1.0 / 256, tolerance);
  Values but_one(11, 1.0);
  but_one.back() = -1;
  EXPECT_NEAR(wilcoxon(but_one).p_greater, 12.0 / 2048, tolerance);
  EXPECT_NEAR(wilcoxon(but_one).p_less, 2047.0 / 2048, tolerance);
}

TEST(Statistics, OfManyDifferencesTheSumOfRanksIsNormal) {
  Values differences;
  for (int i = 1; i <= 90; ++i) differences.push_back(i % 3 == 0 ? -i : i);
  const RankTest test = wilcoxon(differences);
  EXPECT_FALSE(test.exact);
  EXPECT_EQ(test.statistic, 90 * 91 / 2 - 3 * 30 * 31 / 2);
  const double sd = std::sqrt(90 * 91 * 181 / 24.0);
  EXPECT_NEAR(test.p_greater, normal_cdf((90 * 91 / 4.0 - test.statistic + 0.5) / sd), tolerance);
}

TEST(Statistics, FewValuesBoundNothingAndEqualOnesShowNothing) {
  const Values one = {1.0};
  EXPECT_TRUE(std::isinf(hodges_lehmann(one, one, 0.95).high));
  const Values equal(30, 2.0);
  EXPECT_EQ(mann_whitney(equal, equal).p_greater, 1);
  EXPECT_EQ(wilcoxon(Values(5, 0.0)).p_less, 1);
  EXPECT_THROW(mann_whitney({}, one), InvalidArgument);
  EXPECT_THROW(mann_whitney(one, Values{std::nan("")}), InvalidArgument);
}

Values steps(const std::vector<std::pair<int, double>>& stretches, double noise_share) {
  RandomEngine random = random_engine(11, "steps");
  std::normal_distribution<double> noise(0, noise_share);
  Values series;
  for (const auto& [count, level] : stretches) {
    for (int i = 0; i < count; ++i) series.push_back(level * std::exp(noise(random)));
  }
  return series;
}

std::vector<std::size_t> places(const std::vector<ChangePoint>& changes) {
  std::vector<std::size_t> at;
  for (const ChangePoint& change : changes) at.push_back(change.at);
  return at;
}

TEST(ChangePoints, AreFoundWhereTheLevelMoves) {
  const Values series = steps({{45, 1.0}, {40, 1.2}, {80, 1.1}}, 0.01);
  const std::vector<ChangePoint> changes = change_points(series, ChangeRule{});
  EXPECT_THAT(places(changes), testing::ElementsAre(45, 85));
  EXPECT_NEAR(changes[0].after / changes[0].before, 1.2, 0.02);
}

TEST(ChangePoints, ASteadySeriesASpikeAndASmallStepAreNone) {
  EXPECT_TRUE(change_points(steps({{200, 1.0}}, 0.05), ChangeRule{}).empty());
  EXPECT_TRUE(change_points(steps({{30, 1.0}, {2, 3.0}, {30, 1.0}}, 0.01), ChangeRule{}).empty());
  EXPECT_TRUE(change_points(steps({{60, 1.0}, {60, 1.02}}, 0.001), ChangeRule{}).empty());
  EXPECT_TRUE(change_points(Values{1, 1, 5, 5}, ChangeRule{}).empty());
  EXPECT_TRUE(change_points({}, ChangeRule{}).empty());
}

}  // namespace
}  // namespace collbench

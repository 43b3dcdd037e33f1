// Deviations from a trend, carried to other sizes and scales: closed forms for one point, and
// what must hold of any number of them.
#include "heuristics/calibration/deviation_field.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

using testing::Each;

constexpr double noise = 0.08 * 0.08;  // variance of a measurement, relative to the spread's

/// Places of random sizes on 2 to 16 nodes, no two alike, with random deviations.
struct DeviationSample {
  std::vector<FieldPlace> places;
  std::vector<double> deviations;
  std::vector<double> own;
};
DeviationSample sample_of(std::uint64_t seed, int points) {
  RandomEngine engine = random_engine(seed, "deviations");
  std::uniform_real_distribution<double> deviation(-0.5, 0.5);
  DeviationSample sample;
  for (int i = 0; i < points; ++i) {
    const double size = 10 + 0.5 * i;
    sample.places.push_back({size, static_cast<double>(1 + engine() % 4), 2});
    sample.deviations.push_back(deviation(engine));
    sample.own.push_back(0);
  }
  return sample;
}

DeviationField field_of(const DeviationSample& sample, double spread) {
  return {sample.places, sample.deviations, sample.own, spread};
}

std::vector<FieldPlace> asked_places() {
  std::vector<FieldPlace> places;
  for (const double size : {0.0, 10.0, 13.3, 16.0, 40.0}) {
    for (const double nodes : {0.0, 1.0, 2.5, 9.0}) places.push_back({size, nodes, 2});
  }
  return places;
}

TEST(PlaceTest, AxesAreLogarithmsAndUnknownNodesAreOne) {
  const FieldPlace place = place_of({32, 8}, Bytes{1 << 20});
  EXPECT_EQ(place.size, 20);
  EXPECT_EQ(place.nodes, 3);
  EXPECT_EQ(place.ranks, 2);
  const FieldPlace unknown = place_of({16, 0}, Bytes{0});
  EXPECT_EQ(unknown.size, 0);
  EXPECT_EQ(unknown.nodes, 0);
  EXPECT_EQ(unknown.ranks, 4);
}

TEST(DeviationFieldTest, OnePointFallsOffWithTheDistanceOnEachAxis) {
  const double spread = 0.3;
  const double deviation = 0.2;
  const FieldPlace at{20, 2, 3};
  const DeviationField field({at}, {deviation}, {0}, spread);
  struct Row {
    FieldPlace place;
    double correlation;
  };
  for (const Row& row :
       {Row{{20, 2, 3}, 1}, Row{{23, 2, 3}, std::exp(-1.0)}, Row{{14, 2, 3}, std::exp(-2.0)},
        Row{{20, 7, 3}, std::exp(-1.0)}, Row{{20, 2, 7}, std::exp(-1.0)},
        Row{{23, 7, 7}, std::exp(-3.0)}, Row{{20, 0, 3}, std::exp(-0.4 - 1)}}) {
    const DeviationField::Value value = field.at(row.place);
    EXPECT_NEAR(value.mean, deviation * row.correlation / (1 + noise), 1e-12);
    const double known = row.correlation * row.correlation / (1 + noise);
    EXPECT_NEAR(value.deviation, spread * std::sqrt(1 - known + noise), 1e-12);
  }
}

TEST(DeviationFieldTest, GivesMeasuredDeviationsBackAndNothingFarAway) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const DeviationSample sample = sample_of(seed, 24);
    const DeviationField field = field_of(sample, 0.3);
    for (std::size_t i = 0; i < sample.places.size(); ++i) {
      const DeviationField::Value value = field.at(sample.places[i]);
      EXPECT_NEAR(value.mean, sample.deviations[i], 0.04) << i;
      EXPECT_LT(value.deviation, 0.3 * 0.2);
    }
    const DeviationField::Value far = field.at({200, 2, 2});
    EXPECT_NEAR(far.mean, 0, 1e-12);
    EXPECT_NEAR(far.deviation, 0.3 * std::sqrt(1 + noise), 1e-12);
  }
}

TEST(DeviationFieldTest, IsLinearInTheDeviationsAndDoesNotDependOnTheirOrder) {
  const DeviationSample sample = sample_of(4, 16);
  DeviationSample scaled = sample;
  for (double& deviation : scaled.deviations) deviation *= -3;
  DeviationSample turned = sample;
  std::reverse(turned.places.begin(), turned.places.end());
  std::reverse(turned.deviations.begin(), turned.deviations.end());
  const DeviationField field = field_of(sample, 0.3);
  const DeviationField threefold = field_of(scaled, 0.3);
  const DeviationField reversed = field_of(turned, 0.3);
  for (const FieldPlace& place : asked_places()) {
    EXPECT_NEAR(threefold.at(place).mean, -3 * field.at(place).mean, 1e-12);
    EXPECT_NEAR(threefold.at(place).deviation, field.at(place).deviation, 1e-12);
    EXPECT_NEAR(reversed.at(place).mean, field.at(place).mean, 1e-12);
    EXPECT_NEAR(reversed.at(place).deviation, field.at(place).deviation, 1e-12);
  }
}

TEST(DeviationFieldTest, EveryFurtherPointMakesItSurer) {
  const DeviationSample all = sample_of(5, 12);
  for (std::size_t points = 1; points < all.places.size(); ++points) {
    DeviationSample fewer = all;
    DeviationSample more = all;
    fewer.places.resize(points);
    fewer.deviations.resize(points);
    fewer.own.resize(points);
    more.places.resize(points + 1);
    more.deviations.resize(points + 1);
    more.own.resize(points + 1);
    const DeviationField before = field_of(fewer, 0.3);
    const DeviationField after = field_of(more, 0.3);
    for (const FieldPlace& place : asked_places()) {
      EXPECT_LE(after.at(place).deviation, before.at(place).deviation + 1e-12) << points;
    }
    EXPECT_LT(after.at(more.places.back()).deviation, before.at(more.places.back()).deviation);
  }
}

TEST(DeviationFieldTest, WhatIsAScalesOwnStaysWithIt) {
  const FieldPlace here{20, 2, 2};
  const FieldPlace larger{24, 2, 2};
  const FieldPlace elsewhere{20, 3, 2};
  const DeviationField shared({here}, {0.4}, {0}, 0.1);
  const DeviationField own({here}, {0.4}, {0.15}, 0.1);
  EXPECT_NEAR(own.at(here).mean, 0.4, 0.01);
  EXPECT_GT(own.at(larger).mean, shared.at(larger).mean);
  EXPECT_LT(own.at(elsewhere).mean, 0.1 * shared.at(elsewhere).mean);
}

/// Sizes of 1 KiB to 16 MiB on each of `nodes`, with what deviates(log2 nodes, log2 size) says.
template <typename Deviates>
DeviationSample curves_of(const std::vector<double>& nodes, const Deviates& deviates) {
  DeviationSample sample;
  for (const double n : nodes) {
    for (double size = 10; size <= 24; size += 2) {
      sample.places.push_back({size, n, 2});
      sample.deviations.push_back(deviates(n, size));
      sample.own.push_back(0);
    }
  }
  return sample;
}

std::vector<double> variance_of(const DeviationSample& sample) {
  return field_of(sample, 0.1).variance_of_scales();
}

TEST(VarianceOfScalesTest, OnlyTheScaleThatContradictsTheOthersHasItsOwn) {
  for (const double disturbed : {1.0, 3.0, 5.0}) {
    const DeviationSample sample = curves_of(
        {1, 2, 3, 4, 5}, [&](double nodes, double) { return nodes == disturbed ? 0.7 : 0.0; });
    const std::vector<double> variance = variance_of(sample);
    for (std::size_t i = 0; i < variance.size(); ++i) {
      if (sample.places[i].nodes == disturbed) {
        EXPECT_GT(variance[i], 0.1) << disturbed << " " << sample.places[i].size;
        EXPECT_LT(variance[i], 0.5);
      }
    }
    // Its variance is of its own from the second round on; the others then agree with each other.
    DeviationSample again = sample;
    again.own = variance;
    const std::vector<double> second = variance_of(again);
    for (std::size_t i = 0; i < second.size(); ++i) {
      if (sample.places[i].nodes != disturbed) {
        EXPECT_EQ(second[i], 0) << disturbed << " " << sample.places[i].nodes;
      }
    }
  }
}

TEST(VarianceOfScalesTest, NoneWhereAllAgreeOrTooFewAreMeasured) {
  const auto level = [](double, double) { return 0.05; };
  EXPECT_THAT(variance_of(curves_of({1, 2, 3, 4}, level)), Each(0));
  const auto apart = [](double nodes, double) { return nodes == 2 ? 1.0 : 0.0; };
  EXPECT_THAT(variance_of(curves_of({1, 2}, apart)), Each(0)) << "which of two is wrong?";
  EXPECT_THAT(variance_of(curves_of({0, 1, 2}, apart)), Each(0)) << "one node is no third";
}

TEST(VarianceOfScalesTest, OneSizeThatDiffersIsAChangeOfProtocol) {
  const DeviationSample sample = curves_of(
      {1, 2, 3, 4}, [](double nodes, double size) { return nodes == 2 && size == 16 ? 0.5 : 0.0; });
  EXPECT_THAT(variance_of(sample), Each(testing::Lt(0.03)));
}

TEST(VarianceOfScalesTest, IsWhatPredictingAScaleFromAFieldOfTheOthersLeaves) {
  // One size of each scale, so that nothing is averaged.
  DeviationSample sample;
  for (const auto& [nodes, deviation] :
       {std::pair{1.0, 0.1}, {2.0, -0.6}, {4.0, 0.2}, {5.0, 0.9}}) {
    sample.places.push_back({12 + nodes, nodes, 2});
    sample.deviations.push_back(deviation);
    sample.own.push_back(0.02 * nodes);
  }
  const double spread = 0.1;
  const std::vector<double> variance = field_of(sample, spread).variance_of_scales();
  for (std::size_t i = 0; i < sample.places.size(); ++i) {
    DeviationSample others = sample;
    const auto without = [&](auto& values) {
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
    };
    without(others.places);
    without(others.deviations);
    without(others.own);
    const DeviationField::Value value = field_of(others, spread).at(sample.places[i]);
    const double error = sample.deviations[i] - value.mean;
    const double unknown = value.deviation * value.deviation - noise * spread * spread;
    EXPECT_NEAR(variance[i], std::max(0.0, error * error - 3 * unknown), 1e-12) << i;
  }
}

/// `per_doubling` sizes to a doubling on one scale, with noise of 5 % and one change of protocol.
DeviationSample noisy_curve(int per_doubling) {
  RandomEngine engine = random_engine(1, "noise");
  std::normal_distribution<double> off(0, 0.05);
  DeviationSample sample;
  for (int i = 0; i < 20 * per_doubling; ++i) {
    const double size = 10 + static_cast<double>(i) / per_doubling;
    sample.places.push_back({size, 1, 3});
    sample.deviations.push_back(off(engine) + (size < 18 ? 0 : 0.4));
    sample.own.push_back(0);
  }
  return sample;
}

TEST(NoiseTest, IsSeenWhereSizesAreDenseOnly) {
  const DeviationSample dense = noisy_curve(8);
  EXPECT_NEAR(noise_of(dense.places, dense.deviations), 0.05, 0.01);
  const DeviationSample sparse = noisy_curve(1);
  EXPECT_EQ(noise_of(sparse.places, sparse.deviations), 0);
  // A field with it goes between the points and not through them.
  const DeviationField through(dense.places, dense.deviations, dense.own, 0.2);
  const DeviationField between(dense.places, dense.deviations, dense.own, 0.2, 0.05);
  double through_points = 0;  // distances from the truth, which is 0 there
  double averaged = 0;
  for (std::size_t i = 40; i < 60; ++i) {
    through_points += std::abs(through.at(dense.places[i]).mean);
    averaged += std::abs(between.at(dense.places[i]).mean);
  }
  EXPECT_LT(averaged, 0.9 * through_points);
  EXPECT_GT(between.at(dense.places[50]).deviation, 0.05);
}

/// Kriging by hand: the mean of two points solves a system of two equations.
TEST(DeviationFieldTest, MeanOfTwoPointsIsTheSolutionOfTheirSystem) {
  const double spread = 0.3;
  const FieldPlace a{10, 1, 2};
  const FieldPlace b{13, 1, 2};  // one correlation length of size away
  const FieldPlace between{11.5, 1, 2};
  const double variance = spread * spread;
  const double own = variance * (1 + noise);
  const double both = variance * std::exp(-1.0);
  const double reach = variance * std::exp(-0.5);
  const DeviationField field({a, b}, {0.2, -0.1}, {0, 0}, spread);
  const DeviationField::Value value = field.at(between);
  // Both are reached alike, so that only the sum of the weights counts: (0.2 - 0.1) / (own + both).
  EXPECT_NEAR(value.mean, reach * 0.1 / (own + both), 1e-12);
  const double unknown = variance - reach * reach * 2 / (own + both);
  EXPECT_NEAR(value.deviation, std::sqrt(unknown + variance * noise), 1e-12);
}

TEST(DeviationFieldTest, PlacesThatAreNoNumbersAreRefused) {
  const double nowhere = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(DeviationField({{nowhere, 1, 2}}, {0.1}, {0}, 0.3), InvalidArgument);
}

}  // namespace
}  // namespace collbench

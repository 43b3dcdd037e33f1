#include "training/engine.h"

#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"

namespace collbench {
namespace {

constexpr std::int64_t samples = 6;

std::vector<double> gradients_of(Network& network) {
  const Region region = network.gradients();
  if (region.type == DataType::f32) {
    const auto* first = reinterpret_cast<const float*>(region.data);
    return {first, first + region.count};
  }
  const auto* first = reinterpret_cast<const double*>(region.data);
  return {first, first + region.count};
}

/// Small but nowhere zero, so that no ReLU sits on its kink.
std::vector<double> start_of(const Model& model) {
  std::vector<double> values = initial_parameters(model, 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += i % 3 == 0 ? 0.013 : -0.007;
  return values;
}

void expect_gradients_match_differences(const Model& model) {
  const Dataset data = data_for(model, samples);
  const Batch batch{data.images, data.labels};
  const auto network = find_engine("plain").make_network(model, samples, DataType::f64);
  std::vector<double> at = start_of(model);
  network->set_parameters(at);
  network->forward(batch);
  network->backward(0.5, [](std::int64_t) {});
  const std::vector<double> gradients = gradients_of(*network);
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double middle = at[i];
    at[i] = middle + step;
    network->set_parameters(at);
    const double above = network->forward(batch).loss;
    at[i] = middle - step;
    network->set_parameters(at);
    const double below = network->forward(batch).loss;
    at[i] = middle;
    const double slope = 0.5 * (above - below) / (2 * step);
    ASSERT_NEAR(gradients[i], slope, 1e-7 * (1 + std::abs(slope))) << "parameter " << i;
  }
}

TEST(EngineTest, GradientsOfEveryLayerAreThoseOfFiniteDifferences) {
  expect_gradients_match_differences(every_layer());
}

TEST(EngineTest, GradientsThroughTwoConvolutionsAreThoseOfFiniteDifferences) {
  expect_gradients_match_differences({"two-convolutions",
                                      {7, 7, 1},
                                      {{LayerKind::conv3x3, 3},
                                       {LayerKind::relu},
                                       {LayerKind::conv3x3, 4},
                                       {LayerKind::relu},
                                       {LayerKind::flatten},
                                       {LayerKind::dense, 3}},
                                      3,
                                      "sgd",
                                      0.1});
}

TEST(EngineTest, SingleAndDoublePrecisionAgree) {
  for (const Model& model : {make_model("mnist-cnn"), make_model("mlp", {40, 20})}) {
    const Dataset data = data_for(model, samples);
    std::vector<double> gradients[2];
    double losses[2];
    for (const bool wide : {false, true}) {
      const auto network =
          find_engine("plain").make_network(model, samples, wide ? DataType::f64 : DataType::f32);
      network->set_parameters(initial_parameters(model, 1));
      losses[wide] = network->forward({data.images, data.labels}).loss;
      network->backward(1.0 / samples, [](std::int64_t) {});
      gradients[wide] = gradients_of(*network);
    }
    EXPECT_NEAR(losses[0], losses[1], 1e-5 * losses[1]);
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
      difference += std::pow(gradients[0][i] - gradients[1][i], 2);
      size += std::pow(gradients[1][i], 2);
    }
    EXPECT_LT(std::sqrt(difference / size), 1e-4) << model.name;
  }
}

TEST(EngineTest, GradientsAreFinalWhenTheyAreReportedReady) {
  const Model model = every_layer();
  const Dataset data = data_for(model, samples);
  const auto network = find_engine("plain").make_network(model, samples, DataType::f64);
  network->set_parameters(initial_parameters(model, 1));
  network->forward({data.images, data.labels});
  std::vector<double> seen;
  std::vector<std::int64_t> ends;
  network->backward(1, [&](std::int64_t end) {
    const std::vector<double> now = gradients_of(*network);
    seen.insert(seen.end(), now.begin() + static_cast<std::int64_t>(seen.size()),
                now.begin() + end);
    ends.push_back(end);
  });
  EXPECT_EQ(ends.size(), 3U);  // one for each layer with parameters
  EXPECT_EQ(seen, gradients_of(*network));
}

TEST(EngineTest, EqualScoresGiveTheLossOfGuessing) {
  const Model model = make_model("mlp");
  const Dataset data = data_for(model, 20);
  const auto network = find_engine("plain").make_network(model, 20, DataType::f64);
  const Score score = network->forward({data.images, data.labels});  // parameters are all 0
  EXPECT_NEAR(score.loss, 20 * std::log(10.0), 1e-12);
  EXPECT_EQ(score.correct, 2);  // the first class wins every tie
}

TEST(EngineTest, FingerprintsTellEveryParameterApart) {
  const Model model = make_model("dense2");
  const auto network = find_engine("plain").make_network(model, 1, DataType::f32);
  std::vector<double> values = initial_parameters(model, 1);
  network->set_parameters(values);
  const std::uint64_t before = network->fingerprint(0, parameters_of(model));
  for (double& value : values) {
    const double kept = std::exchange(value, value + 1e-3);
    network->set_parameters(values);
    EXPECT_NE(network->fingerprint(0, parameters_of(model)), before);
    value = kept;
  }
}

TEST(EngineTest, RefusesUnknownEnginesAndTypes) {
  EXPECT_THAT([] { find_engine("plane"); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("Did you mean 'plain'?")));
  EXPECT_THAT([] { make_plain_network(make_model("dense2"), 1, DataType::f16); },
              testing::ThrowsMessage<Unavailable>(testing::HasSubstr("f32 or f64, not f16")));
  Model model = make_model("dense2");
  model.classes = 3;
  EXPECT_THAT([&] { make_plain_network(model, 1, DataType::f32); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("ends in 1x1x2 values, not in 3 classes")));
}

}  // namespace
}  // namespace collbench

#include "training/engines/engine.h"

#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"
#include "training/elements.h"

namespace collbench {
namespace {

constexpr std::int64_t samples = 6;

std::vector<double> gradients_of(Network& network) { return values_of(network.gradients()); }

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

TEST(EngineTest, GradientsThroughNormalisationsAndShortcutsAreThoseOfFiniteDifferences) {
  expect_gradients_match_differences(small_residual());
}

/// What one forward and backward pass leave.
struct EngineOutcome {
  double loss = 0;
  std::vector<double> gradients;
  std::vector<double> statistics;
};

EngineOutcome outcome_of(Network& network, const Batch& batch) {
  EngineOutcome outcome;
  outcome.loss = network.forward(batch).loss;
  network.backward(1.0 / samples, [](std::int64_t) {});
  outcome.gradients = gradients_of(network);
  if (network.statistics().count > 0) outcome.statistics = values_of(network.statistics());
  return outcome;
}

/// The norm of the difference by that of `expected`.
double distance(const std::vector<double>& values, const std::vector<double>& expected) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    difference += std::pow(values[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  return std::sqrt(difference / size);
}

void expect_agreement(const EngineOutcome& outcome, const EngineOutcome& oracle, double tolerance,
                      const Model& model) {
  EXPECT_NEAR(outcome.loss, oracle.loss, tolerance * oracle.loss) << model.name;
  for (const Tensor& tensor : tensors_of(model)) {
    const auto part = [&tensor](const std::vector<double>& all) {
      const auto first = all.begin() + tensor.first;
      return std::vector<double>(first, first + tensor.count);
    };
    EXPECT_LT(distance(part(outcome.gradients), part(oracle.gradients)), tolerance)
        << model.name << " " << tensor.name;
  }
  EXPECT_THAT(outcome.statistics,
              testing::Pointwise(testing::DoubleNear(tolerance), oracle.statistics));
}

TEST(EngineTest, EveryEngineInSinglePrecisionAgreesWithTheOracleInDouble) {
  for (const Model& model : {make_model("mnist-cnn"), make_model("mlp", {40, 20}), every_layer(),
                             small_residual(), make_model("resnet20")}) {
    const Dataset data = data_for(model, samples);
    const Batch batch{data.images, data.labels};
    const auto oracle = make_plain_network(model, samples, DataType::f64);
    oracle->set_parameters(initial_parameters(model, 1));
    const EngineOutcome expected = outcome_of(*oracle, batch);
    for (const ComputeEngine& engine : engines()) {
      if (engine.make_world != nullptr) continue;  // on GPUs: cudnn_engine_test.cc
      SCOPED_TRACE(engine.name);
      const auto network = engine.make_network(model, samples, DataType::f32);
      network->set_parameters(initial_parameters(model, 1));
      expect_agreement(outcome_of(*network, batch), expected, 5e-5, model);
      EXPECT_NEAR(network->evaluate(batch).loss, oracle->evaluate(batch).loss,
                  1e-4 * expected.loss);
    }
  }
}

TEST(EngineTest, ABatchThatIsNotFullGivesWhatANetworkOfItsSizeGives) {
  for (const Model& model : {every_layer(), small_residual()}) {
    const Dataset data = data_for(model, samples);
    for (const ComputeEngine& engine : engines()) {
      if (engine.make_world != nullptr) continue;
      const auto network = engine.make_network(model, samples, DataType::f32);
      network->set_parameters(initial_parameters(model, 1));
      outcome_of(*network, {data.images, data.labels});
      for (const std::size_t count : {1, 4, 6}) {
        const Batch part{std::span(data.images).first(count * data.images.size() / samples),
                         std::span(data.labels).first(count)};
        const auto exact =
            engine.make_network(model, static_cast<std::int64_t>(count), DataType::f32);
        exact->set_parameters(initial_parameters(model, 1));
        const EngineOutcome expected = outcome_of(*exact, part);
        const EngineOutcome outcome = outcome_of(*network, part);
        EXPECT_EQ(outcome.loss, expected.loss) << engine.name << " " << model.name << count;
        EXPECT_EQ(outcome.gradients, expected.gradients) << engine.name << model.name << count;
      }
    }
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
  for (const char* absent : {"onednn", "cudnn"}) {  // from some builds
    try {
      EXPECT_EQ(find_engine(absent).name, absent);
    } catch (const Unavailable& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("this build has no"));
    }
  }
  EXPECT_THAT([] { make_plain_network(make_model("dense2"), 1, DataType::f16); },
              testing::ThrowsMessage<Unavailable>(testing::HasSubstr("f32 or f64, not f16")));
  Model model = make_model("dense2");
  model.classes = 3;
  EXPECT_THAT([&] { make_plain_network(model, 1, DataType::f32); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("ends in 1x1x2 values, not in 3 classes")));
}

TEST(EngineStates, AutoTakesTheFirstThatCanComputeHere) {
  std::string first;
  for (const EngineState& state : engine_states()) {
    if (first.empty() && state.unusable.empty()) first = state.name;
    if (state.name == "plain") EXPECT_EQ(state.unusable, "");
    EXPECT_FALSE(state.summary.empty() && state.unusable.empty()) << state.name;
  }
  EXPECT_EQ(find_engine("auto").name, first);
}

}  // namespace
}  // namespace collbench

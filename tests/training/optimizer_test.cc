#include "training/optimizer.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

/// The parameter after each update with the same gradient, from 1.
std::vector<double> path(const OptimizerSpec& spec, double gradient, int updates) {
  const auto optimizer = make_host_optimizer(spec, 1, DataType::f64);
  double weight = 1;
  std::vector<double> weights;
  for (int i = 0; i < updates; ++i) {
    optimizer->update({reinterpret_cast<std::byte*>(&weight), 1, DataType::f64},
                      {reinterpret_cast<std::byte*>(&gradient), 1, DataType::f64});
    weights.push_back(weight);
  }
  return weights;
}

TEST(OptimizerTest, SgdGoesDownTheGradient) {
  EXPECT_THAT(path({"sgd", 0.1, 0}, 2, 2),
              testing::ElementsAre(testing::DoubleEq(0.8), testing::DoubleNear(0.6, 1e-15)));
}

TEST(OptimizerTest, MomentumKeepsAShareOfTheLastStep) {
  // Steps of -0.2, -0.2 - 0.1 and -0.2 - 0.15.
  EXPECT_THAT(path({"sgd", 0.1, 0.5}, 2, 3),
              testing::ElementsAre(testing::DoubleNear(0.8, 1e-15), testing::DoubleNear(0.5, 1e-15),
                                   testing::DoubleNear(0.15, 1e-15)));
}

TEST(OptimizerTest, AdamStepsByItsRateUnderAConstantGradient) {
  // The bias corrections cancel: every step is rate g / (|g| + 1e-7 / sqrt(1 - 0.999^t)).
  const std::vector<double> weights = path({"adam", 0.01, 0}, -3, 3);
  double expected = 1;
  for (int t = 1; t <= 3; ++t) {
    expected += 0.01 * 3 / (3 + 1e-7 / std::sqrt(1 - std::pow(0.999, t)));
    EXPECT_NEAR(weights[static_cast<std::size_t>(t - 1)], expected, 1e-14);
  }
}

TEST(OptimizerTest, RefusesWhatDoesNotFit) {
  const auto refuses = [](const OptimizerSpec& spec, const char* text) {
    EXPECT_THAT([&] { check(spec); },
                testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr(text)));
  };
  refuses({"adm", 0.1, 0}, "Did you mean 'adam'?");
  refuses({"sgd", 0, 0}, "above 0, not 0");
  refuses({"sgd", std::nan(""), 0}, "above 0, not nan");
  refuses({"sgd", 0.1, 1}, "below 1, not 1");
  refuses({"adam", 0.1, 0.9}, "takes no momentum");
  EXPECT_THAT([] { make_host_optimizer({}, 1, DataType::bf16); },
              testing::ThrowsMessage<Unavailable>(testing::HasSubstr("not bf16")));
}

}  // namespace
}  // namespace collbench

#include "training/optimizer.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "training/elements.h"

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

TEST(OptimizerTest, GoesOnFromItsStateBitByBit) {
  constexpr std::int64_t count = 37;
  for (const DataType type : {DataType::f32, DataType::f64}) {
    for (const OptimizerSpec& spec :
         {OptimizerSpec{"sgd", 0.1, 0}, {"sgd", 0.1, 0.9}, {"adam", 0.01, 0}}) {
      RandomEngine random = random_engine(1, spec.name);
      std::vector<double> parameters(count);
      std::vector<double> gradients(count);
      const auto region = [type](std::vector<double>& values) {
        return Region{reinterpret_cast<std::byte*>(values.data()), count, type};
      };
      const auto first = make_host_optimizer(spec, count, type);
      const auto step = [&](Optimizer& optimizer, std::vector<double>& to) {
        std::vector<double> given = gradients;
        optimizer.update(region(to), region(given));
      };
      const auto draw = [&] {
        std::vector<double> numbers(count);
        for (double& number : numbers) number = uniform(random) - 0.5;
        set_values(region(gradients), numbers);
      };
      for (int i = 0; i < 3; ++i) draw(), step(*first, parameters);
      const OptimizerState state = first->state();
      EXPECT_EQ(state.slots.size(), slot_names(spec).size());
      const auto second = make_host_optimizer(spec, count, type);
      second->set_state(state);
      std::vector<double> others = parameters;
      for (int i = 0; i < 3; ++i) {
        draw();
        step(*first, parameters);
        step(*second, others);
        EXPECT_EQ(others, parameters) << spec.name << " " << spec.momentum << ", update " << i;
      }
    }
  }
}

TEST(OptimizerTest, AnUpdateIsElementWise) {
  for (const OptimizerSpec& spec : {OptimizerSpec{"sgd", 0.1, 0.9}, {"adam", 0.01, 0}}) {
    constexpr std::int64_t count = 83;  // whole registers and single elements
    std::vector<float> all(count, 1);
    std::vector<float> slopes;
    for (std::int64_t i = 0; i < count; ++i) slopes.push_back(static_cast<float>(std::sin(i)));
    const auto region = [](std::vector<float>& values) {
      return Region{reinterpret_cast<std::byte*>(values.data()), std::ssize(values), DataType::f32};
    };
    const auto whole = make_host_optimizer(spec, count, DataType::f32);
    for (int i = 0; i < 3; ++i) whole->update(region(all), region(slopes));
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = make_host_optimizer(spec, 1, DataType::f32);
      std::vector<float> alone{1};
      std::vector<float> slope{slopes[i]};
      for (int update = 0; update < 3; ++update) one->update(region(alone), region(slope));
      EXPECT_NEAR(static_cast<double>(alone[0]), static_cast<double>(all[i]), 1e-6) << i;
    }
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

#include "training/model.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ModelTest, TheTutorialsModelHasItsPublishedNumberOfParameters) {
  EXPECT_EQ(parameters_of(make_model("mnist-cnn")), 515'146);
  EXPECT_EQ(tensors_of(make_model("mnist-cnn")).size(), 8U);
}

TEST(ModelTest, TheResidualNetworkHasItsPublishedNumberOfParameters) {
  const Model model = make_model("resnet56");
  EXPECT_EQ(parameters_of(model), 853'018);
  EXPECT_EQ(tensors_of(model).size(), 167U);
  EXPECT_EQ(statistics_of(model).size(), 110U);  // two for each of 55 normalisations
  EXPECT_EQ(tensors_of(model).back().name, "conv2d/kernel");
  EXPECT_EQ(tensors_of(model)[2].name, "batch_normalization_54/beta");
}

TEST(ModelTest, RefusesShortcutsThatDoNotFit) {
  const auto refuses = [](const LayerSpec& add, const char* text) {
    const Model model{"wrong",
                      {4, 4, 2},
                      {{LayerKind::relu}, {LayerKind::conv3x3, 2, 1, 0}, add, {LayerKind::flatten}},
                      8,
                      "sgd",
                      0.1};
    EXPECT_THAT([&] { shapes_of(model); }, ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  };
  refuses({LayerKind::add, 0, 1, 0, true, 1}, "layer 2 cannot add the outcome of layer 1");
  refuses({LayerKind::add, 0, 1, 0, true, -1}, "layer 2 cannot add the outcome of layer -1");
  EXPECT_NO_THROW(shapes_of({"right",
                             {4, 4, 2},
                             {{LayerKind::relu},
                              {LayerKind::conv3x3, 3, 1, 0},
                              {LayerKind::add, 0, 1, 0, true, 0},
                              {LayerKind::flatten}},
                             12,
                             "sgd",
                             0.1}));
}

TEST(ModelTest, TensorsLieInTheOrderInWhichGradientsBecomeReady) {
  const std::vector<Tensor> tensors = tensors_of(every_layer());
  std::vector<std::string> names;
  std::int64_t next = 0;
  for (const Tensor& tensor : tensors) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.first, next);
    next += tensor.count;
  }
  EXPECT_THAT(names, testing::ElementsAre("dense_1/bias", "dense_1/kernel", "dense/bias",
                                          "dense/kernel", "conv2d/bias", "conv2d/kernel"));
}

TEST(ModelTest, InitialKernelsFillGlorotsRangeAndBiasesAreZero) {
  const Model model = make_model("mlp");
  const std::vector<double> values = initial_parameters(model, 3);
  EXPECT_EQ(values, initial_parameters(model, 3));
  EXPECT_NE(values, initial_parameters(model, 4));
  for (const Tensor& tensor : tensors_of(model)) {
    double largest = 0;
    for (std::int64_t i = 0; i < tensor.count; ++i) {
      largest = std::max(largest, std::abs(values[static_cast<std::size_t>(tensor.first + i)]));
    }
    EXPECT_LE(largest, tensor.limit);
    EXPECT_GE(largest, 0.9 * tensor.limit) << tensor.name;
  }
}

TEST(ModelTest, RefusesWhatItDoesNotKnowAndShapesThatDoNotFit) {
  const auto message = [](const char* text) {
    return ThrowsMessage<InvalidArgument>(HasSubstr(text));
  };
  EXPECT_THAT([] { make_model("mnist-cn"); }, message("Did you mean 'mnist-cnn'?"));
  EXPECT_THAT([] { make_model("dense2", {3}); }, message("only mlp takes widths"));
  EXPECT_THAT([] { make_model("mlp", {0}); }, message("at least 1 unit, not 0"));
  EXPECT_THAT([] { output_of({LayerKind::conv3x3, 4}, {2, 9, 1}); }, message("not 2x9x1"));
  EXPECT_THAT([] { output_of({LayerKind::dense, 4}, {2, 1, 1}); }, message("flat vector"));
}

}  // namespace
}  // namespace collbench

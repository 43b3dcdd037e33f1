#include "training/engines/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

namespace collbench {
namespace {

/// "3 relu 1": a stage of that layer, with ReLU, and the shortcut from value 1.
std::vector<std::string> words(const Model& model, bool fused) {
  std::vector<std::string> words;
  for (const Stage& stage : stages_of(model, fused)) {
    words.push_back(std::to_string(stage.layer) + (stage.relu ? " relu" : "") +
                    (stage.shortcut >= 0 ? " " + std::to_string(stage.shortcut) : ""));
  }
  return words;
}

TEST(StageTest, ReluIsFusedAndMovesBehindPooling) {
  const Model model = make_model("mnist-cnn");
  EXPECT_THAT(words(model, true), testing::ElementsAre("0", "2 relu", "3 relu", "6 relu", "8"));
  EXPECT_THAT(words(model, false), testing::ElementsAre("0", "1", "2", "3", "4", "6", "7", "8"))
      << "flattening is no stage";
}

TEST(StageTest, ShortcutsAreFusedIntoTheNormalisationBeforeThem) {
  EXPECT_THAT(words(small_residual(), true),
              testing::ElementsAre("0", "1 relu", "3", "4 relu", "6", "7 relu 2", "10", "11 relu",
                                   "13", "14 relu 6", "17", "18"));
}

TEST(StageTest, AValueThatAShortcutReadsIsNotChangedInPlace) {
  const Model model{"pre-activation",
                    {4, 4, 2},
                    {{LayerKind::conv3x3, 2, 1, 1, false},
                     {LayerKind::relu},
                     {LayerKind::conv3x3, 2, 1, 1, false},
                     {LayerKind::add, 0, 1, 0, true, 0},
                     {LayerKind::global_average_pool}},
                    2,
                    "sgd",
                    0.1};
  EXPECT_THAT(words(model, true), testing::ElementsAre("0", "1", "2", "3 1", "4"));
}

}  // namespace
}  // namespace collbench

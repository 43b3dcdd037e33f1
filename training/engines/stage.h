// Stages: what an engine computes in one go, a layer of a model and, if fused, the cheap layers
// behind it that would only read and write the same memory once more.
//
// Stage i makes value i + 1 out of value i; value 0 is the batch. Flattening is no stage, because
// it moves nothing. Fusing changes no result but for rounding:
//   conv3x3, dense or batch_norm, relu  ->  one stage with ReLU
//   conv3x3, relu, max_pool2x2          ->  conv3x3; max_pool2x2 with ReLU, on a quarter of it
//   batch_norm, add, relu               ->  one stage with a shortcut and ReLU
#pragma once

#include <vector>

#include "training/model.h"

namespace collbench {

struct Stage {
  int layer = 0;  // of the model: the one with the parameters
  LayerSpec spec;
  SampleShape in;
  SampleShape out;
  int shortcut = -1;             // the value that is added to the outcome; -1: none
  SampleShape shortcut_shape{};  // of that value
  bool relu = false;             // applied last
};

/// Throws InvalidArgument as shapes_of() does.
std::vector<Stage> stages_of(const Model& model, bool fused);

}  // namespace collbench

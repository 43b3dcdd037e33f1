// Stages: what an engine computes in one go, a layer of a model and, if fused, the cheap layers
// behind it that would only read and write the same memory once more.
//
// Stage i makes value i + 1 out of value i; value 0 is the batch. Flattening is no stage, because
// it moves nothing. Fusing changes no result but for rounding:
//   conv3x3, dense or batch_norm, relu  ->  one stage with ReLU
//   conv3x3, relu, max_pool2x2          ->  conv3x3; max_pool2x2 with ReLU, on a quarter of it
//   batch_norm, add, relu               ->  one stage with a shortcut and ReLU
#pragma once

#include <cstdint>
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

/// visit(pixel of the outcome, pixel of the value that the shortcut adds there), as LayerKind::add
/// says.
template <class Visit>
void for_each_shortcut_pixel(const Stage& stage, std::int64_t samples, const Visit& visit) {
  const SampleShape& from = stage.shortcut_shape;
  const bool equal = from.height == stage.out.height && from.width == stage.out.width;
  const std::int64_t step = equal ? 1 : 2;
  std::int64_t pixel = 0;
  for (std::int64_t line = 0; line < samples * stage.out.height; ++line) {
    const std::int64_t row = line / stage.out.height * from.height + line % stage.out.height * step;
    for (std::int64_t x = 0; x < stage.out.width; ++x) visit(pixel++, row * from.width + x * step);
  }
}

/// Throws InvalidArgument as shapes_of() does.
std::vector<Stage> stages_of(const Model& model, bool fused);

}  // namespace collbench

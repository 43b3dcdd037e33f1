// Models and data of a size for tests.
#pragma once

#include <cstdint>

#include "training/data/dataset.h"
#include "training/model.h"
#include "training/replica.h"

namespace collbench {

/// Every kind of layer, on 7x8 images of 2 channels and 3 classes.
inline Model every_layer() {
  return {"every-layer",
          {7, 8, 2},
          {{LayerKind::conv3x3, 5},
           {LayerKind::relu},
           {LayerKind::max_pool2x2},
           {LayerKind::flatten},
           {LayerKind::dense, 19},
           {LayerKind::relu},
           {LayerKind::dense, 3}},
          3,
          "sgd",
          0.1};
}

/// Residual blocks with both kinds of shortcuts, on 6x5 images of 2 channels and 3 classes.
inline Model small_residual() {
  const LayerSpec norm{LayerKind::batch_norm};
  const LayerSpec relu{LayerKind::relu};
  const auto conv = [](int filters, int stride) {
    return LayerSpec{LayerKind::conv3x3, filters, stride, 1, false};
  };
  const auto add = [](int from) { return LayerSpec{LayerKind::add, 0, 1, 0, true, from}; };
  return {"small-residual",
          {6, 5, 2},
          {conv(4, 1),
           norm,
           relu,  // 0 to 2
           conv(4, 1),
           norm,
           relu,
           conv(4, 1),
           norm,
           add(2),
           relu,  // 3 to 9
           conv(18, 2),
           norm,
           relu,
           conv(18, 1),
           norm,
           add(9),
           relu,  // 10 to 16
           {LayerKind::global_average_pool},
           {LayerKind::dense, 3}},
          3,
          "sgd",
          0.1};
}

/// Two short epochs on the plain engine.
inline TrainingPlan plan_for(const Model& model) {
  TrainingPlan plan;
  plan.model = model;
  plan.optimizer = {"adam", 0.01, 0};
  plan.engine = "plain";
  plan.global_batch = 12;
  plan.epochs = 2;
  plan.steps = 15;
  plan.buckets = "1K";
  return plan;
}

inline Dataset data_for(const Model& model, std::int64_t count) {
  return synthetic_dataset(model.input, model.classes, count, 7, "train");
}

}  // namespace collbench

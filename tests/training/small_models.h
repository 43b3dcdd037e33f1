// Models and data of a size for tests.
#pragma once

#include "training/dataset.h"
#include "training/model.h"

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

inline Dataset data_for(const Model& model, std::int64_t count) {
  return synthetic_dataset(model.input, model.classes, count, 7, "train");
}

}  // namespace collbench

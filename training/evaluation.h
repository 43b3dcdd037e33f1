// How well a model does on samples that it has not seen.
#pragma once

#include <cstdint>
#include <vector>

#include "training/data/dataset.h"
#include "training/engines/engine.h"

namespace collbench {

struct Evaluation {
  double loss = 0;  // mean over the samples
  double accuracy = 0;
};

/// In batches of up to `batch` samples, for which the network was made, with moving statistics.
/// Requires at least one sample.
Evaluation evaluate(Network& network, const Dataset& held_out, std::int64_t batch);

// The elements of a region of f32 or f64 as numbers, exactly; a region may be empty.
std::vector<double> values_of(Region region);
/// Requires as many values as elements.
void set_values(Region region, const std::vector<double>& values);

}  // namespace collbench

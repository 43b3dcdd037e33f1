// All that training needs to go on where it stopped, bit by bit.
//
// The position in the data and the random choices follow from the seed and the step, so they need
// no more than that number.
#pragma once

#include <cstdint>
#include <vector>

#include "training/bucket_plan.h"
#include "training/engines/engine.h"
#include "training/optimizer.h"

namespace collbench {

struct TrainingState {
  std::int64_t step = 0;           // finished
  std::vector<double> parameters;  // flat, as the model's tensors
  std::vector<double> statistics;  // of batch normalisation, as statistics_of(); empty without
  OptimizerState optimizer;
  Score epoch;  // of the steps of the epoch that has begun
  std::int64_t epoch_samples = 0;
  std::vector<Bucket> buckets;  // as planned from measured times; empty: none were
  bool finished = false;        // the plan was carried out to its end
};

}  // namespace collbench

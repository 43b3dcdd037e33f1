// Measures a model of ours layer by layer, as a table for replay and simulation.
#pragma once

#include <cstdint>

#include "training/dataset.h"
#include "training/replica.h"
#include "training/workload.h"

namespace collbench {

/// Trains one replica without communication for `steps` steps of `samples` samples, after two to
/// warm up, and takes medians. A layer's `weight` time is the time from the gradients of the layer
/// before it in the backward pass to its own, which is what decides when buckets may start; `input`
/// is 0, but for what the first layer leaves. The forward pass is only known as a whole, and split
/// in proportion to the backward pass. Layers without parameters are part of their neighbours.
/// Throws as check() of the plan does.
Workload measure_workload(const TrainingPlan& plan, const Dataset& data, std::int64_t samples,
                          int steps);

}  // namespace collbench

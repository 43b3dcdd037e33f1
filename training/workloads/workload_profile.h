// A model of ours as a table of layers for replay and simulation: counted, or measured as well.
#pragma once

#include <cstdint>

#include "training/data/dataset.h"
#include "training/replica.h"
#include "training/workloads/workload.h"

namespace collbench {

/// The layers that have parameters, with their tensors, flops (of dense layers, convolutions and 4
/// for each element that is normalised) and activations. Layers without are part of these.
Workload workload_of(const Model& model);

/// The same with times. Trains one replica without communication for `steps` steps of `samples`
/// samples, after two to warm up, and takes medians. A layer's `weight` time is the time from the
/// gradients of the layer before it in the backward pass to its own, which is what decides when
/// buckets may start; `input` is 0, but for what the first layer leaves. The forward pass is only
/// known as a whole, and split in proportion to the backward pass. Throws as check() of the plan
/// does.
Workload measure_workload(const TrainingPlan& plan, const Dataset& data, std::int64_t samples,
                          int steps);

}  // namespace collbench

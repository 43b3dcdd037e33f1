// How long one worker computes in a step: from measured times, or from a roofline of its device.
//
// Roofline: a pass over a layer takes the longer of flops / (peak x compute share) and bytes /
// (peak x memory share), and never less than one kernel launch. The bytes are its parameters and
// what it reads and writes: its input and output once, and for gradients those of both as well. It
// misses the measured steps of ResNet-50 on five GPUs by 2 to 42 % (docs/training-simulated.md), so
// a measured step, where there is one, should scale it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/data_type.h"
#include "core/units.h"
#include "training/workloads/workload.h"

namespace collbench {

/// What a device could do at best.
struct ComputeDevice {
  std::string_view name;        // "v100"
  double flops_f32 = 0;         // per second; with TF32 where the device has it
  double flops_f16 = 0;         // with matrix units
  double memory_bandwidth = 0;  // bytes per second
  std::string_view source;
};
std::span<const ComputeDevice> compute_devices();
/// Throws InvalidArgument with the nearest name.
const ComputeDevice& find_compute_device(const std::string& name);

/// What of it a training framework reaches.
struct ComputeShares {
  double compute = 0.55;
  double memory = 0.75;
  Seconds launch{5e-6};  // of a kernel
};

/// One worker's step without communication.
struct ComputeProfile {
  std::vector<LayerTimes> layers;  // in forward order
  Seconds optimizer{0};
  std::string origin;  // in words: "roofline of v100", "measured on ..."

  Seconds forward() const;
  Seconds backward() const;
  /// Both passes of so many micro-batches, and one update.
  Seconds whole(int micro_batches = 1) const {
    return (forward() + backward()) * micro_batches + optimizer;
  }
};

/// Plays a backward pass: of each layer from the last to the first, `work` with the time of its
/// parameters' gradients, `ready` with each of its tensors, and `work` with that of its input's.
void play_backward(const ComputeProfile& compute, std::span<const Tensor> tensors,
                   const std::function<void(int layer, Seconds time)>& work,
                   const std::function<void(const Tensor& tensor)>& ready);

/// Times of a batch by the roofline; `type` is what is computed with, f32 or a 16-bit type.
/// Throws InvalidArgument for another type or a batch below 1.
ComputeProfile roofline_profile(const Workload& workload, const ComputeDevice& device,
                                const ComputeShares& shares, std::int64_t batch, DataType type);

/// The measured times, in proportion if they are of another batch. Requires workload.measured.
ComputeProfile measured_profile(const Workload& workload, std::int64_t batch);

/// The same shares of another whole time, of a step of so many micro-batches. Requires whole > 0.
ComputeProfile scaled_to(ComputeProfile profile, Seconds whole, int micro_batches = 1);

}  // namespace collbench

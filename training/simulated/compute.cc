#include "training/simulated/compute.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

// B200: the table says 2.2 and 4.5 Pflops/s with sparsity, and 7.7 TB/s (github.com/pytorch/ao pull
// 4002 finds 7.67 in the driver); glennklockwood.com/garden/processors/B200 has 1.1 and 2.25 dense.
// B300 and GB300: verda.com's table of both, whose B200 is the same; it gives 1.4 and 1.1 kW.
constexpr std::array<ComputeDevice, 12> devices{{
    {"k80", 4.37e12, 4.37e12, 240e9, "NVIDIA Tesla K80 data sheet; one of its two GPUs"},
    {"p100", 10.6e12, 21.2e12, 732e9, "NVIDIA Tesla P100 data sheet, SXM2"},
    {"v100", 15.7e12, 125e12, 900e9, "NVIDIA V100 data sheet, SXM2"},
    {"a100", 156e12, 312e12, 2039e9, "NVIDIA A100 data sheet, SXM 80 GB; f32 is TF32"},
    {"h100", 495e12, 989e12, 3350e9, "NVIDIA H100 data sheet, SXM; dense; f32 is TF32"},
    {"h200", 495e12, 989e12, 4800e9, "NVIDIA H200 data sheet, SXM; dense; f32 is TF32"},
    {"gh200", 495e12, 989e12, 4000e9, "NVIDIA GH200 data sheet, 96 GB of HBM3; dense; f32 is TF32"},
    {"b200", 1.1e15, 2.25e15, 7700e9, "NVIDIA HGX B200 table; 1000 W; dense; f32 is TF32"},
    {"b300", 1.1e15, 2.25e15, 7700e9,
     "verda.com/blog/gb300-nvl72-architecture; dense; f32 is TF32"},
    {"gb300", 1.25e15, 2.5e15, 8000e9,
     "verda.com/blog/gb300-nvl72-architecture; dense; f32 is TF32"},
    {"mi300x", 653.7e12, 1307.4e12, 5300e9, "AMD Instinct MI300X data sheet; dense; f32 is TF32"},
    {"cpu-core", 100e9, 100e9, 10e9, "an AVX-512 core with f32 at about 3 GHz; rounded"},
}};

// Bytes per parameter that an update with momentum moves: weight and momentum in f32 are read and
// written, the gradient is read.
constexpr double update_bytes = 20;

class Roofline {
 public:
  Roofline(double flops, double bandwidth, Seconds launch)
      : flops_(flops), bandwidth_(bandwidth), launch_(launch) {}
  Seconds time(double flops, double bytes) const {
    return std::max(launch_, Seconds(std::max(flops / flops_, bytes / bandwidth_)));
  }

 private:
  double flops_;
  double bandwidth_;
  Seconds launch_;
};

}  // namespace

std::span<const ComputeDevice> compute_devices() { return devices; }

const ComputeDevice& find_compute_device(const std::string& name) {
  return find_row("device", name, devices);
}

Seconds ComputeProfile::forward() const {
  Seconds sum{0};
  for (const LayerTimes& layer : layers) sum += layer.forward;
  return sum;
}

Seconds ComputeProfile::backward() const {
  Seconds sum{0};
  for (const LayerTimes& layer : layers) sum += layer.weight + layer.input;
  return sum;
}

void play_backward(const ComputeProfile& compute, std::span<const Tensor> tensors,
                   const std::function<void(int layer, Seconds time)>& work,
                   const std::function<void(const Tensor& tensor)>& ready) {
  auto tensor = tensors.begin();
  for (auto layer = static_cast<int>(compute.layers.size()); layer-- > 0;) {
    const LayerTimes& times = compute.layers[static_cast<std::size_t>(layer)];
    work(layer, times.weight);
    for (; tensor != tensors.end() && tensor->layer == layer; ++tensor) ready(*tensor);
    work(layer, times.input);
  }
}

ComputeProfile roofline_profile(const Workload& workload, const ComputeDevice& device,
                                const ComputeShares& shares, std::int64_t batch, DataType type) {
  require(batch >= 1, fmt::format("a batch has at least 1 sample, not {}", batch));
  const bool half = type == DataType::f16 || type == DataType::bf16;
  require(half || type == DataType::f32,
          fmt::format("the roofline knows f32, f16 and bf16, not {}", to_string(type)));
  const Roofline roofline((half ? device.flops_f16 : device.flops_f32) * shares.compute,
                          device.memory_bandwidth * shares.memory, shares.launch);
  const auto samples = static_cast<double>(batch);
  const double width = size_of(type);
  ComputeProfile profile;
  profile.origin = fmt::format("roofline of {} at batch {}", device.name, batch);
  double parameters = 0;
  double tensors = 0;
  double input = 0;  // elements of a sample
  for (const WorkloadLayer& layer : workload.layers) {
    double weights = 0;
    for (const std::int64_t count : layer.tensors) weights += static_cast<double>(count);
    const bool first = profile.layers.empty();
    if (first) input = layer.activations;
    const double flops = samples * layer.forward_flops;
    const double passed = samples * (input + layer.activations) * width;
    const double read = weights * width;
    LayerTimes& times = profile.layers.emplace_back();
    times.forward = roofline.time(flops, passed + read);
    if (weights > 0) times.weight = roofline.time(flops, passed + read);
    // Without parameters of its own (attention, tied weights) all of the backward pass is here.
    const double backward_flops = weights > 0 ? flops : 2 * flops;
    if (!first) {
      times.input = roofline.time(backward_flops, passed + samples * input * width + read);
    }
    parameters += weights;
    tensors += static_cast<double>(layer.tensors.size());
    input = layer.activations;
  }
  profile.optimizer =
      std::max(tensors * shares.launch, roofline.time(0, parameters * update_bytes));
  return profile;
}

ComputeProfile measured_profile(const Workload& workload, std::int64_t batch) {
  const MeasuredTimes& measured = workload.measured.value();
  require(batch >= 1, fmt::format("a batch has at least 1 sample, not {}", batch));
  const double factor = static_cast<double>(batch) / static_cast<double>(measured.batch);
  ComputeProfile profile;
  profile.origin =
      fmt::format("measured on {} at batch {}",
                  measured.device.empty() ? "an unnamed device" : measured.device, measured.batch);
  for (const LayerTimes& times : measured.layers) {
    profile.layers.push_back({times.forward * factor, times.weight * factor, times.input * factor});
  }
  profile.optimizer = measured.optimizer;
  return profile;
}

ComputeProfile scaled_to(ComputeProfile profile, Seconds whole, int micro_batches) {
  const double factor = whole / profile.whole(micro_batches);
  for (LayerTimes& layer : profile.layers) {
    layer.forward *= factor;
    layer.weight *= factor;
    layer.input *= factor;
  }
  profile.optimizer *= factor;
  profile.origin += fmt::format(", scaled to {}", to_string(whole));
  return profile;
}

}  // namespace collbench

#include "training/engines/gpu_layers.h"

#include <map>

#include "core/error.h"
#include "training/engines/gpu_array.h"
#include "training/engines/gpu_batch_norm.h"
#include "training/engines/gpu_kernels.h"

namespace collbench {
namespace {

class GpuDense final : public Layer<float> {
 public:
  GpuDense(const Stage& stage, LayerMemory<float> memory, GpuMath& math)
      : depth_(stage.in.size()),
        units_(stage.spec.units),
        relu_(stage.relu),
        memory_(memory),
        math_(math) {}

  void forward(const LayerPass<float>& pass) override {
    math_.product({pass.in}, {kernel()}, pass.out, pass.samples, units_, depth_);
    gpu_add_bias(pass.out, memory_.parameters, relu_, pass.samples, units_, math_.stream());
  }
  void backward_parameters(const LayerPass<float>& pass, float* slope) override {
    if (relu_) gpu_relu_slope(pass.out, slope, slope, pass.samples * units_, math_.stream());
    math_.column_sums(slope, memory_.gradients, pass.samples, units_);
    math_.product({pass.in, true}, {slope}, memory_.gradients + units_, depth_, units_,
                  pass.samples);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    math_.product({slope}, {kernel(), true}, in_slope, pass.samples, depth_, units_);
  }

 private:
  const float* kernel() const { return memory_.parameters + units_; }
  std::int64_t depth_;
  std::int64_t units_;
  bool relu_;
  LayerMemory<float> memory_;
  GpuMath& math_;
};

// Our kernels are places, input channels, filters; cuDNN's are filters, places, input channels: one
// is the other transposed.
class GpuConv3x3 final : public Layer<float> {
 public:
  GpuConv3x3(const Stage& stage, LayerMemory<float> memory, const float* turned, GpuLanes& lanes)
      : stage_(stage),
        depth_(std::int64_t{9} * stage.in.channels),
        units_(stage.spec.units),
        pixels_(std::int64_t{stage.out.height} * stage.out.width),
        bias_(stage.spec.bias ? units_ : 0),
        memory_(memory),
        turned_(turned),
        lanes_(lanes),
        turned_slope_(depth_ * units_) {}

  void forward(const LayerPass<float>& pass) override {
    CUstream_st* const stream = lanes_.chain().stream();
    convolution(pass.samples).forward(pass.in, turned_, pass.out);
    const std::int64_t rows = pass.samples * pixels_;
    if (bias_ > 0) {
      gpu_add_bias(pass.out, memory_.parameters, stage_.relu, rows, units_, stream);
    } else if (stage_.relu) {
      gpu_relu(pass.out, pass.out, rows * units_, stream);
    }
  }
  void backward_parameters(const LayerPass<float>& pass, float* slope) override {
    const std::int64_t rows = pass.samples * pixels_;
    if (stage_.relu) {
      gpu_relu_slope(pass.out, slope, slope, rows * units_, lanes_.chain().stream());
    }
    lanes_.fork();
    GpuMath& beside = lanes_.beside();
    if (bias_ > 0) beside.column_sums(slope, memory_.gradients, rows, units_);
    convolution(pass.samples).kernel_slope(pass.in, slope, turned_slope_.data());
    lanes_.reads_beside(slope);
    gpu_transpose(turned_slope_.data(), memory_.gradients + bias_, units_, depth_, beside.stream());
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    convolution(pass.samples).in_slope(slope, turned_, in_slope);
  }

 private:
  // One for each size of batch, of which there are few: that of a step and of its ragged end.
  GpuConvolution& convolution(std::int64_t samples) {
    std::unique_ptr<GpuConvolution>& found = convolutions_[samples];
    if (!found) found = lanes_.chain().convolution(stage_, samples, lanes_.beside());
    return *found;
  }

  Stage stage_;
  std::int64_t depth_;
  std::int64_t units_;
  std::int64_t pixels_;
  std::int64_t bias_;  // elements of it
  LayerMemory<float> memory_;
  const float* turned_;
  GpuLanes& lanes_;
  GpuArray<float> turned_slope_;
  std::map<std::int64_t, std::unique_ptr<GpuConvolution>> convolutions_;
};

class GpuBatchNormLayer final : public Layer<float> {
 public:
  GpuBatchNormLayer(const Stage& stage, LayerMemory<float> memory, GpuMath& math)
      : norm_(stage, memory.parameters, memory.gradients, memory.statistics, math.stream()) {}

  void forward(const LayerPass<float>& pass) override {
    norm_.forward(pass.training, pass.in, pass.shortcut, pass.out, pass.samples);
  }
  void backward_parameters(const LayerPass<float>& pass, float* slope) override {
    norm_.parameter_slopes(pass.in, pass.out, slope, pass.samples);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    norm_.in_slope(pass.in, slope, in_slope, pass.samples);
  }

 private:
  GpuBatchNorm norm_;
};

class GpuWeightless : public Layer<float> {
 public:
  GpuWeightless(const Stage& stage, GpuMath& math) : stage_(stage), stream_(math.stream()) {}

 protected:
  Stage stage_;
  CUstream_st* stream_;
};

class GpuRelu final : public GpuWeightless {
 public:
  using GpuWeightless::GpuWeightless;
  void forward(const LayerPass<float>& pass) override {
    gpu_relu(pass.in, pass.out, pass.samples * stage_.in.size(), stream_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    gpu_relu_slope(pass.out, slope, in_slope, pass.samples * stage_.in.size(), stream_);
  }
};

class GpuMaxPool2x2 final : public GpuWeightless {
 public:
  using GpuWeightless::GpuWeightless;
  void forward(const LayerPass<float>& pass) override {
    gpu_max_pool(pass.in, pass.out, stage_.relu, stage_.in, pass.samples, stream_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    gpu_max_pool_slope(pass.in, stage_.relu, slope, in_slope, stage_.in, pass.samples, stream_);
  }
};

class GlobalAverage final : public GpuWeightless {
 public:
  using GpuWeightless::GpuWeightless;
  void forward(const LayerPass<float>& pass) override {
    gpu_global_average(pass.in, pass.out, stage_.in, pass.samples, stream_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    gpu_global_average_slope(slope, in_slope, stage_.in, pass.samples, stream_);
  }
};

class GpuAdd final : public GpuWeightless {
 public:
  using GpuWeightless::GpuWeightless;
  void forward(const LayerPass<float>& pass) override {
    gpu_add_shortcut(pass.in, pass.shortcut, pass.out, stage_.out, stage_.shortcut_shape,
                     pass.samples, stream_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    gpu_copy(slope, in_slope, pass.samples * stage_.out.size(), stream_);
  }
};

}  // namespace

std::unique_ptr<Layer<float>> make_gpu_layer(const Stage& stage, LayerMemory<float> memory,
                                             const float* turned, GpuLanes& lanes) {
  GpuMath& math = lanes.chain();
  switch (stage.spec.kind) {
    case LayerKind::dense:
      return std::make_unique<GpuDense>(stage, memory, math);
    case LayerKind::conv3x3:
      return std::make_unique<GpuConv3x3>(stage, memory, turned, lanes);
    case LayerKind::batch_norm:
      return std::make_unique<GpuBatchNormLayer>(stage, memory, math);
    case LayerKind::relu:
      return std::make_unique<GpuRelu>(stage, math);
    case LayerKind::max_pool2x2:
      return std::make_unique<GpuMaxPool2x2>(stage, math);
    case LayerKind::global_average_pool:
      return std::make_unique<GlobalAverage>(stage, math);
    case LayerKind::add:
      return std::make_unique<GpuAdd>(stage, math);
    case LayerKind::flatten:
      break;
  }
  throw Error("a stage without a layer on GPUs");
}

}  // namespace collbench

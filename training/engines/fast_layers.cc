#include "training/engines/fast_layers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "training/engines/aligned_array.h"
#include "training/engines/layer_kernels.h"

namespace collbench {
namespace {

class FastMaxPool2x2 final : public Layer<float> {
 public:
  explicit FastMaxPool2x2(const Stage& stage) : in_(stage.in), out_(stage.out), relu_(stage.relu) {}

  void forward(const LayerPass<float>& pass) override {
    const auto count = static_cast<std::size_t>(pass.samples * out_.size());
    if (winners_.size() < count) winners_.resize(count);
    layer_kernels().pool(pass.in, pass.out, winners_.data(), shape(pass), relu_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    layer_kernels().pool_slope(winners_.data(), slope, in_slope, shape(pass));
  }

 private:
  PoolShape shape(const LayerPass<float>& pass) const {
    return {pass.samples, in_.height, in_.width, in_.channels};
  }

  SampleShape in_;
  SampleShape out_;
  bool relu_;
  std::vector<std::int32_t> winners_;
};

/// Normalises each channel, adds the shortcut if there is one, and applies ReLU if it is fused.
class FastBatchNorm final : public Layer<float> {
 public:
  FastBatchNorm(const Stage& stage, LayerMemory<float> memory)
      : stage_(stage),
        memory_(memory),
        channels_(stage.in.channels),
        sums_(static_cast<std::size_t>(2 * channels_)),
        mean_(static_cast<std::size_t>(channels_)),
        inverse_(mean_.size()) {
    for (std::vector<float>& values : coefficients_) values.resize(mean_.size());
  }

  void forward(const LayerPass<float>& pass) override {
    const std::int64_t rows = rows_of(pass);
    if (pass.training) take_moments(pass.in, rows);
    const float* variances = memory_.statistics + channels_;
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const double factor =
          pass.training ? static_cast<double>(inverse_[c])
                        : 1 / std::sqrt(static_cast<double>(variances[c]) + batch_norm_epsilon);
      const double mean = static_cast<double>(pass.training ? mean_[c] : memory_.statistics[c]);
      coefficients_[0][c] = static_cast<float>(factor * static_cast<double>(factors()[c]));
      coefficients_[1][c] = static_cast<float>(static_cast<double>(memory_.parameters[c]) -
                                               mean * static_cast<double>(coefficients_[0][c]));
    }
    layer_kernels().normalise(pass.in, coefficients_[0].data(), coefficients_[1].data(),
                              shortcut_of(pass), pass.out, rows, channels_, stage_.relu);
  }
  void backward_parameters(const LayerPass<float>& pass, float* slope) override {
    layer_kernels().slope_moments(pass.in, mean_.data(), stage_.relu ? pass.out : nullptr, slope,
                                  sums_.data(), rows_of(pass), channels_);
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      memory_.gradients[c] = static_cast<float>(sums_[c]);
      memory_.gradients[mean_.size() + c] =
          static_cast<float>(sums_[mean_.size() + c] * static_cast<double>(inverse_[c]));
    }
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    // factor inverse (slope - sum / n - (in - mean) inverse^2 sum' / n), with the sums of slope and
    // of slope (in - mean) over the n rows, as slope a + in b + c.
    const auto count = static_cast<double>(rows_of(pass));
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const auto inverse = static_cast<double>(inverse_[c]);
      const double a = static_cast<double>(factors()[c]) * inverse;
      const double b = -a * inverse * inverse * sums_[mean_.size() + c] / count;
      coefficients_[0][c] = static_cast<float>(a);
      coefficients_[1][c] = static_cast<float>(b);
      coefficients_[2][c] =
          static_cast<float>(-a * sums_[c] / count - b * static_cast<double>(mean_[c]));
    }
    layer_kernels().normalise_slope(pass.in, slope, coefficients_[0].data(),
                                    coefficients_[1].data(), coefficients_[2].data(), in_slope,
                                    rows_of(pass), channels_);
  }

 private:
  const float* factors() const { return memory_.parameters + channels_; }
  std::int64_t rows_of(const LayerPass<float>& pass) const {
    return pass.samples * stage_.in.height * stage_.in.width;
  }

  /// Of each channel over the batch; moves the averages.
  void take_moments(const float* in, std::int64_t rows) {
    // Squares are taken of differences from the first row, which is about where the values are.
    layer_kernels().moments(in, in, sums_.data(), rows, channels_);
    const auto count = static_cast<double>(rows);
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const double shift = sums_[c] / count;
      const double mean = static_cast<double>(in[c]) + shift;
      const double variance = std::max(0.0, sums_[mean_.size() + c] / count - shift * shift);
      mean_[c] = static_cast<float>(mean);
      inverse_[c] = static_cast<float>(1 / std::sqrt(variance + batch_norm_epsilon));
      move_batch_norm_average(memory_.statistics[c], mean);
      move_batch_norm_average(memory_.statistics[mean_.size() + c],
                              variance * count / std::max(1.0, count - 1));
    }
  }

  /// In the shape of the outcome, or null.
  const float* shortcut_of(const LayerPass<float>& pass) {
    const SampleShape& from = stage_.shortcut_shape;
    if (stage_.shortcut < 0 || from == stage_.out) return pass.shortcut;
    if (reshaped_.size() < pass.samples * stage_.out.size()) {
      reshaped_ = AlignedArray<float>(pass.samples * stage_.out.size());
    }
    // The channels that the source does not have stay 0.
    for_each_shortcut_pixel(stage_, pass.samples, [&](std::int64_t pixel, std::int64_t source) {
      std::copy_n(pass.shortcut + source * from.channels, from.channels,
                  reshaped_.data() + pixel * channels_);
    });
    return reshaped_.data();
  }

  Stage stage_;
  LayerMemory<float> memory_;
  std::int64_t channels_;
  std::vector<double> sums_;
  std::vector<float> mean_;     // of the last batch in training
  std::vector<float> inverse_;  // of its standard deviation
  std::vector<float> coefficients_[3];
  AlignedArray<float> reshaped_;
};

}  // namespace

std::unique_ptr<Layer<float>> make_fast_layer(const Stage& stage, LayerMemory<float> memory) {
  if (stage.spec.kind == LayerKind::max_pool2x2) return std::make_unique<FastMaxPool2x2>(stage);
  if (stage.spec.kind == LayerKind::batch_norm)
    return std::make_unique<FastBatchNorm>(stage, memory);
  return nullptr;
}

}  // namespace collbench

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "training/engines/plain_layers.h"

namespace collbench {
namespace {

/// Normalises each channel over samples and pixels, then shifts and scales it.
template <class T>
class BatchNorm final : public Layer<T> {
 public:
  BatchNorm(const Stage& stage, LayerMemory<T> memory)
      : shape_(stage.in),
        memory_(memory),
        mean_(static_cast<std::size_t>(shape_.channels)),
        inverse_(mean_.size()) {}

  void forward(const LayerPass<T>& pass) override {
    const std::int64_t channels = shape_.channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const Moments now = pass.training ? moments(pass, c)
                                        : Moments{static_cast<double>(memory_.statistics[c]),
                                                  static_cast<double>(variances()[c])};
      mean_[at(c)] = static_cast<T>(now.mean);
      inverse_[at(c)] = static_cast<T>(1 / std::sqrt(now.variance + batch_norm_epsilon));
    }
    for (std::int64_t i = 0; i < rows(pass) * channels; ++i) {
      const std::int64_t c = i % channels;
      pass.out[i] = normalised(pass.in[i], c) * factors()[c] + memory_.parameters[c];
    }
  }
  void backward_parameters(const LayerPass<T>& pass, T* slope) override {
    const std::int64_t channels = shape_.channels;
    std::fill_n(memory_.gradients, 2 * channels, T{0});
    for (std::int64_t i = 0; i < rows(pass) * channels; ++i) {
      const std::int64_t c = i % channels;
      memory_.gradients[c] += slope[i];
      memory_.gradients[channels + c] += slope[i] * normalised(pass.in[i], c);
    }
    // The gradients may be summed over replicas from now on; this replica's are needed once more.
    own_gradients_.assign(memory_.gradients, memory_.gradients + 2 * channels);
  }
  void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) override {
    const std::int64_t channels = shape_.channels;
    const T count = static_cast<T>(rows(pass));
    for (std::int64_t i = 0; i < rows(pass) * channels; ++i) {
      const std::int64_t c = i % channels;
      const T common =
          own_gradients_[at(c)] + normalised(pass.in[i], c) * own_gradients_[at(channels + c)];
      in_slope[i] = factors()[c] * inverse_[at(c)] * (slope[i] - common / count);
    }
  }

 private:
  struct Moments {
    double mean = 0;
    double variance = 0;
  };

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t rows(const LayerPass<T>& pass) const {
    return pass.samples * shape_.height * shape_.width;
  }
  const T* factors() const { return memory_.parameters + shape_.channels; }
  T* variances() const { return memory_.statistics + shape_.channels; }
  T normalised(T value, std::int64_t c) const { return (value - mean_[at(c)]) * inverse_[at(c)]; }

  /// Of channel `c` over the batch; moves the averages.
  Moments moments(const LayerPass<T>& pass, std::int64_t c) {
    Moments now;
    const auto count = static_cast<double>(rows(pass));
    const auto value = [&](std::int64_t i) {
      return static_cast<double>(pass.in[i * shape_.channels + c]);
    };
    for (std::int64_t i = 0; i < rows(pass); ++i) now.mean += value(i) / count;
    for (std::int64_t i = 0; i < rows(pass); ++i) {
      now.variance += (value(i) - now.mean) * (value(i) - now.mean) / count;
    }
    move_batch_norm_average(memory_.statistics[c], now.mean);
    move_batch_norm_average(variances()[c], now.variance * count / std::max(1.0, count - 1));
    return now;
  }

  SampleShape shape_;
  LayerMemory<T> memory_;
  std::vector<T> mean_;     // that the last forward pass used
  std::vector<T> inverse_;  // of the standard deviation
  std::vector<T> own_gradients_;
};

/// Adds a shortcut; see LayerKind::add.
template <class T>
class Add final : public Layer<T> {
 public:
  explicit Add(const Stage& stage) : stage_(stage) {}
  void forward(const LayerPass<T>& pass) override {
    const int added = stage_.shortcut_shape.channels;
    std::copy_n(pass.in, pass.samples * stage_.out.size(), pass.out);
    for_each_shortcut_pixel(stage_, pass.samples, [&](std::int64_t pixel, std::int64_t from) {
      T* out = pass.out + pixel * stage_.out.channels;
      for (int c = 0; c < added; ++c) out[c] += pass.shortcut[from * added + c];
    });
  }
  void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) override {
    std::copy_n(slope, pass.samples * stage_.out.size(), in_slope);
  }

 private:
  Stage stage_;
};

template <class T>
class GlobalAveragePool final : public Layer<T> {
 public:
  explicit GlobalAveragePool(const Stage& stage)
      : channels_(stage.in.channels), pixels_(std::int64_t{stage.in.height} * stage.in.width) {}
  void forward(const LayerPass<T>& pass) override {
    std::fill_n(pass.out, pass.samples * channels_, T{0});
    for_each(pass.samples, [&](std::int64_t in, std::int64_t out) {
      pass.out[out] += pass.in[in] / static_cast<T>(pixels_);
    });
  }
  void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) override {
    for_each(pass.samples, [&](std::int64_t in, std::int64_t out) {
      in_slope[in] = slope[out] / static_cast<T>(pixels_);
    });
  }

 private:
  template <class Visit>
  void for_each(std::int64_t samples, const Visit& visit) {
    for (std::int64_t pixel = 0; pixel < samples * pixels_; ++pixel) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        visit(pixel * channels_ + c, pixel / pixels_ * channels_ + c);
      }
    }
  }

  std::int64_t channels_;
  std::int64_t pixels_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_plain_residual_layer(const Stage& stage, LayerMemory<T> memory) {
  if (stage.spec.kind == LayerKind::batch_norm) {
    assert(stage.shortcut < 0);
    return std::make_unique<BatchNorm<T>>(stage, memory);
  }
  if (stage.spec.kind == LayerKind::add) return std::make_unique<Add<T>>(stage);
  return std::make_unique<GlobalAveragePool<T>>(stage);
}

template std::unique_ptr<Layer<float>> make_plain_residual_layer(const Stage&, LayerMemory<float>);
template std::unique_ptr<Layer<double>> make_plain_residual_layer(const Stage&,
                                                                  LayerMemory<double>);

}  // namespace collbench

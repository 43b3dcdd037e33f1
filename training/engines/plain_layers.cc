#include "training/engines/plain_layers.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "training/engines/layer.h"
#include "training/engines/matrix_product.h"

namespace collbench {
namespace {

/// out (n x units) = in (n x depth) kernel + bias, and the two parts of its gradient.
template <class T>
struct Affine {
  Affine(std::int64_t inputs, std::int64_t outputs, LayerMemory<T> memory, bool biased)
      : depth(inputs),
        units(outputs),
        bias(biased ? memory.parameters : nullptr),
        kernel(memory.parameters + (biased ? outputs : 0)),
        bias_slope(biased ? memory.gradients : nullptr),
        kernel_slope(memory.gradients + (biased ? outputs : 0)),
        transposed(static_cast<std::size_t>(inputs * outputs)) {}

  void forward(const T* in, T* out, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) {
      if (bias != nullptr) std::copy_n(bias, units, out + i * units);
      if (bias == nullptr) std::fill_n(out + i * units, units, T{0});
    }
    add_product(Factor<T>{in, depth, 1}, kernel, out, n, units, depth);
  }
  void clear_slopes() {
    if (bias != nullptr) std::fill_n(bias_slope, units, T{0});
    std::fill_n(kernel_slope, units * depth, T{0});
  }
  void add_slopes(const T* in, const T* out_slope, std::int64_t n) {
    for (std::int64_t i = 0; bias != nullptr && i < n; ++i) {
      for (std::int64_t j = 0; j < units; ++j) bias_slope[j] += out_slope[i * units + j];
    }
    add_product(Factor<T>{in, 1, depth}, out_slope, kernel_slope, depth, units, n);
  }
  void transpose_kernel() { transpose(kernel, transposed.data(), depth, units); }
  void backward_data(const T* out_slope, T* in_slope, std::int64_t n) const {
    std::fill_n(in_slope, n * depth, T{0});
    add_product(Factor<T>{out_slope, units, 1}, transposed.data(), in_slope, n, depth, units);
  }

  std::int64_t depth;
  std::int64_t units;
  const T* bias;  // null without
  const T* kernel;
  T* bias_slope;
  T* kernel_slope;
  std::vector<T> transposed;
};

template <class T>
class Dense final : public Layer<T> {
 public:
  Dense(const Stage& stage, LayerMemory<T> memory)
      : affine_(stage.in.size(), stage.spec.units, memory, true) {}
  void forward(const LayerPass<T>& pass) override {
    affine_.forward(pass.in, pass.out, pass.samples);
  }
  void backward_parameters(const LayerPass<T>& pass, T* slope) override {
    affine_.clear_slopes();
    affine_.add_slopes(pass.in, slope, pass.samples);
  }
  void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) override {
    affine_.transpose_kernel();
    affine_.backward_data(slope, in_slope, pass.samples);
  }

 private:
  Affine<T> affine_;
};

/// A convolution is a dense layer on the 3x3 patches of the image, one sample at a time.
template <class T>
class Conv3x3 final : public Layer<T> {
 public:
  Conv3x3(const Stage& stage, LayerMemory<T> memory)
      : spec_(stage.spec),
        in_(stage.in),
        out_(stage.out),
        affine_(std::int64_t{9} * in_.channels, spec_.units, memory, spec_.bias),
        pixels_(std::int64_t{out_.height} * out_.width),
        patches_(static_cast<std::size_t>(pixels_ * affine_.depth)) {}

  void forward(const LayerPass<T>& pass) override {
    for (std::int64_t i = 0; i < pass.samples; ++i) {
      gather(pass.in + i * in_.size());
      affine_.forward(patches_.data(), pass.out + i * out_.size(), pixels_);
    }
  }
  void backward_parameters(const LayerPass<T>& pass, T* slope) override {
    affine_.clear_slopes();
    for (std::int64_t i = 0; i < pass.samples; ++i) {
      gather(pass.in + i * in_.size());
      affine_.add_slopes(patches_.data(), slope + i * out_.size(), pixels_);
    }
  }
  void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) override {
    affine_.transpose_kernel();
    std::fill_n(in_slope, pass.samples * in_.size(), T{0});
    for (std::int64_t i = 0; i < pass.samples; ++i) {
      affine_.backward_data(slope + i * out_.size(), patches_.data(), pixels_);
      scatter(in_slope + i * in_.size());
    }
  }

 private:
  // visit(patch, pixel of the image or -1 for the border, channels): the places of each patch.
  template <class Visit>
  void for_each_pixel(const Visit& visit) {
    T* patch = patches_.data();
    for (int y = 0; y < out_.height; ++y) {
      for (int x = 0; x < out_.width; ++x) {
        for (int place = 0; place < 9; ++place, patch += in_.channels) {
          const int row = y * spec_.stride + place / 3 - spec_.padding;
          const int column = x * spec_.stride + place % 3 - spec_.padding;
          const bool inside = row >= 0 && row < in_.height && column >= 0 && column < in_.width;
          visit(patch, inside ? (std::int64_t{row} * in_.width + column) * in_.channels : -1);
        }
      }
    }
  }
  void gather(const T* image) {
    for_each_pixel([this, image](T* patch, std::int64_t at) {
      if (at < 0) {
        std::fill_n(patch, in_.channels, T{0});
      } else {
        std::copy_n(image + at, in_.channels, patch);
      }
    });
  }
  void scatter(T* image) {
    for_each_pixel([this, image](const T* patch, std::int64_t at) {
      for (std::int64_t i = 0; at >= 0 && i < in_.channels; ++i) image[at + i] += patch[i];
    });
  }

  LayerSpec spec_;
  SampleShape in_;
  SampleShape out_;
  Affine<T> affine_;
  std::int64_t pixels_;
  std::vector<T> patches_;  // of one sample
};

template <class T>
class Relu final : public Layer<T> {
 public:
  explicit Relu(const Stage& stage) : size_(stage.in.size()) {}
  void forward(const LayerPass<T>& pass) override {
    for (std::int64_t i = 0; i < pass.samples * size_; ++i) {
      pass.out[i] = std::max(pass.in[i], T{0});
    }
  }
  void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) override {
    for (std::int64_t i = 0; i < pass.samples * size_; ++i) {
      in_slope[i] = pass.out[i] > 0 ? slope[i] : T{0};
    }
  }

 private:
  std::int64_t size_;
};

template <class T>
class MaxPool2x2 final : public Layer<T> {
 public:
  explicit MaxPool2x2(const Stage& stage) : in_(stage.in), out_(stage.out) {}

  void forward(const LayerPass<T>& pass) override {
    const T* in = pass.in;
    winners_.resize(static_cast<std::size_t>(pass.samples * out_.size()));
    for_each_output(pass.samples, [&](std::int64_t place, std::int64_t corner) {
      std::int64_t winner = corner;  // the first of equal ones, line by line
      for (const std::int64_t step : {std::int64_t{in_.channels}, line(), line() + in_.channels}) {
        if (in[corner + step] > in[winner]) winner = corner + step;
      }
      pass.out[place] = in[winner];
      winners_[static_cast<std::size_t>(place)] = winner;
    });
  }
  void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) override {
    std::fill_n(in_slope, pass.samples * in_.size(), T{0});
    for (std::int64_t i = 0; i < pass.samples * out_.size(); ++i) {
      in_slope[winners_[static_cast<std::size_t>(i)]] = slope[i];
    }
  }

 private:
  std::int64_t line() const { return std::int64_t{in_.width} * in_.channels; }
  /// visit(index of an output element, index of the first of its four inputs).
  template <class Visit>
  void for_each_output(std::int64_t n, const Visit& visit) {
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t y = 0; y < out_.height; ++y) {
        for (std::int64_t x = 0; x < out_.width; ++x) {
          const std::int64_t corner = i * in_.size() + 2 * y * line() + 2 * x * in_.channels;
          for (std::int64_t c = 0; c < in_.channels; ++c) visit(place++, corner + c);
        }
      }
    }
  }

  SampleShape in_;
  SampleShape out_;
  std::vector<std::int64_t> winners_;  // for each output, the input it came from
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_plain_layer(const Stage& stage, LayerMemory<T> memory) {
  assert(stage.spec.kind == LayerKind::relu || !stage.relu);
  switch (stage.spec.kind) {
    case LayerKind::dense:
      return std::make_unique<Dense<T>>(stage, memory);
    case LayerKind::conv3x3:
      return std::make_unique<Conv3x3<T>>(stage, memory);
    case LayerKind::max_pool2x2:
      return std::make_unique<MaxPool2x2<T>>(stage);
    case LayerKind::relu:
      return std::make_unique<Relu<T>>(stage);
    case LayerKind::batch_norm:
    case LayerKind::add:
    case LayerKind::global_average_pool:
      return make_plain_residual_layer<T>(stage, memory);
    case LayerKind::flatten:
      break;
  }
  return nullptr;
}

template std::unique_ptr<Layer<float>> make_plain_layer(const Stage&, LayerMemory<float>);
template std::unique_ptr<Layer<double>> make_plain_layer(const Stage&, LayerMemory<double>);

}  // namespace collbench

#include "training/plain_layers.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "training/matrix_product.h"

namespace collbench {
namespace {

/// out (n x units) = in (n x depth) kernel + bias, and the two parts of its gradient.
template <class T>
struct Affine {
  Affine(std::int64_t inputs, std::int64_t outputs, LayerMemory<T> memory)
      : depth(inputs),
        units(outputs),
        bias(memory.parameters),
        kernel(memory.parameters + outputs),
        bias_slope(memory.gradients),
        kernel_slope(memory.gradients + outputs),
        transposed(static_cast<std::size_t>(inputs * outputs)) {}

  void forward(const T* in, T* out, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(bias, units, out + i * units);
    add_product(Factor<T>{in, depth, 1}, kernel, out, n, units, depth);
  }
  void clear_slopes() { std::fill_n(bias_slope, units * (depth + 1), T{0}); }
  void add_slopes(const T* in, const T* out_slope, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
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
  const T* bias;
  const T* kernel;
  T* bias_slope;
  T* kernel_slope;
  std::vector<T> transposed;
};

template <class T>
class Dense final : public PlainLayer<T> {
 public:
  Dense(std::int64_t depth, std::int64_t units, LayerMemory<T> memory)
      : affine_(depth, units, memory) {}
  void forward(const T* in, T* out, std::int64_t n) override { affine_.forward(in, out, n); }
  void backward_parameters(const T* in, const T* out_slope, std::int64_t n) override {
    affine_.clear_slopes();
    affine_.add_slopes(in, out_slope, n);
  }
  void backward_data(const T* /*in*/, const T* /*out*/, const T* out_slope, T* in_slope,
                     std::int64_t n) override {
    affine_.transpose_kernel();
    affine_.backward_data(out_slope, in_slope, n);
  }

 private:
  Affine<T> affine_;
};

/// A convolution is a dense layer on the 3x3 patches of the image, one sample at a time.
template <class T>
class Conv3x3 final : public PlainLayer<T> {
 public:
  Conv3x3(const SampleShape& in, int filters, LayerMemory<T> memory)
      : in_(in),
        out_(output_of({LayerKind::conv3x3, filters}, in)),
        affine_(9 * in.channels, filters, memory),
        pixels_(std::int64_t{out_.height} * out_.width),
        patches_(static_cast<std::size_t>(pixels_ * affine_.depth)) {}

  void forward(const T* in, T* out, std::int64_t n) override {
    for (std::int64_t i = 0; i < n; ++i) {
      gather(in + i * in_.size());
      affine_.forward(patches_.data(), out + i * out_.size(), pixels_);
    }
  }
  void backward_parameters(const T* in, const T* out_slope, std::int64_t n) override {
    affine_.clear_slopes();
    for (std::int64_t i = 0; i < n; ++i) {
      gather(in + i * in_.size());
      affine_.add_slopes(patches_.data(), out_slope + i * out_.size(), pixels_);
    }
  }
  void backward_data(const T* /*in*/, const T* /*out*/, const T* out_slope, T* in_slope,
                     std::int64_t n) override {
    affine_.transpose_kernel();
    std::fill_n(in_slope, n * in_.size(), T{0});
    for (std::int64_t i = 0; i < n; ++i) {
      affine_.backward_data(out_slope + i * out_.size(), patches_.data(), pixels_);
      scatter(in_slope + i * in_.size());
    }
  }

 private:
  // Three neighbouring pixels of a line with their channels are contiguous in image and patch.
  template <class Visit>
  void for_each_line(const Visit& visit) {
    const std::int64_t length = 3 * std::int64_t{in_.channels};
    T* patch = patches_.data();
    for (std::int64_t y = 0; y < out_.height; ++y) {
      for (std::int64_t x = 0; x < out_.width; ++x) {
        for (std::int64_t row = 0; row < 3; ++row, patch += length) {
          visit(patch, ((y + row) * in_.width + x) * in_.channels, length);
        }
      }
    }
  }
  void gather(const T* image) {
    for_each_line([image](T* patch, std::int64_t at, std::int64_t length) {
      std::copy_n(image + at, length, patch);
    });
  }
  void scatter(T* image) {
    for_each_line([image](const T* patch, std::int64_t at, std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) image[at + i] += patch[i];
    });
  }

  SampleShape in_;
  SampleShape out_;
  Affine<T> affine_;
  std::int64_t pixels_;
  std::vector<T> patches_;  // of one sample
};

template <class T>
class Relu final : public PlainLayer<T> {
 public:
  explicit Relu(std::int64_t size) : size_(size) {}
  void forward(const T* in, T* out, std::int64_t n) override {
    for (std::int64_t i = 0; i < n * size_; ++i) out[i] = std::max(in[i], T{0});
  }
  void backward_parameters(const T* /*in*/, const T* /*out_slope*/, std::int64_t /*n*/) override {}
  void backward_data(const T* /*in*/, const T* out, const T* out_slope, T* in_slope,
                     std::int64_t n) override {
    for (std::int64_t i = 0; i < n * size_; ++i) in_slope[i] = out[i] > 0 ? out_slope[i] : T{0};
  }

 private:
  std::int64_t size_;
};

template <class T>
class MaxPool2x2 final : public PlainLayer<T> {
 public:
  explicit MaxPool2x2(const SampleShape& in)
      : in_(in), out_(output_of({LayerKind::max_pool2x2}, in)) {}

  void forward(const T* in, T* out, std::int64_t n) override {
    winners_.resize(static_cast<std::size_t>(n * out_.size()));
    for_each_output(n, [&](std::int64_t place, std::int64_t corner) {
      std::int64_t winner = corner;  // the first of equal ones, line by line
      for (const std::int64_t step : {std::int64_t{in_.channels}, line(), line() + in_.channels}) {
        if (in[corner + step] > in[winner]) winner = corner + step;
      }
      out[place] = in[winner];
      winners_[static_cast<std::size_t>(place)] = winner;
    });
  }
  void backward_parameters(const T* /*in*/, const T* /*out_slope*/, std::int64_t /*n*/) override {}
  void backward_data(const T* /*in*/, const T* /*out*/, const T* out_slope, T* in_slope,
                     std::int64_t n) override {
    std::fill_n(in_slope, n * in_.size(), T{0});
    for (std::int64_t i = 0; i < n * out_.size(); ++i) {
      in_slope[winners_[static_cast<std::size_t>(i)]] = out_slope[i];
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
std::unique_ptr<PlainLayer<T>> make_plain_layer(const LayerSpec& spec, const SampleShape& in,
                                                LayerMemory<T> memory) {
  switch (spec.kind) {
    case LayerKind::dense:
      return std::make_unique<Dense<T>>(in.size(), spec.units, memory);
    case LayerKind::conv3x3:
      return std::make_unique<Conv3x3<T>>(in, spec.units, memory);
    case LayerKind::max_pool2x2:
      return std::make_unique<MaxPool2x2<T>>(in);
    case LayerKind::relu:
      return std::make_unique<Relu<T>>(in.size());
    case LayerKind::flatten:
      break;
  }
  return nullptr;
}

template <class T>
Score softmax_cross_entropy(T* scores, std::span<const int> labels, std::int64_t classes) {
  Score total;
  for (const int label : labels) {
    assert(label >= 0 && label < classes);
    const T* best = std::max_element(scores, scores + classes);
    const T largest = *best;
    total.correct += best - scores == label ? 1 : 0;
    T sum{0};
    for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(scores[j] - largest);
    total.loss += static_cast<double>(std::log(sum) + largest - scores[label]);
    for (std::int64_t j = 0; j < classes; ++j) scores[j] = std::exp(scores[j] - largest) / sum;
    scores += classes;
  }
  return total;
}

template <class T>
void softmax_cross_entropy_slope(T* probabilities, std::span<const int> labels,
                                 std::int64_t classes, double scale) {
  for (const int label : labels) {
    probabilities[label] -= T{1};
    for (std::int64_t j = 0; j < classes; ++j) probabilities[j] *= static_cast<T>(scale);
    probabilities += classes;
  }
}

template std::unique_ptr<PlainLayer<float>> make_plain_layer(const LayerSpec&, const SampleShape&,
                                                             LayerMemory<float>);
template std::unique_ptr<PlainLayer<double>> make_plain_layer(const LayerSpec&, const SampleShape&,
                                                              LayerMemory<double>);
template Score softmax_cross_entropy(float*, std::span<const int>, std::int64_t);
template Score softmax_cross_entropy(double*, std::span<const int>, std::int64_t);
template void softmax_cross_entropy_slope(float*, std::span<const int>, std::int64_t, double);
template void softmax_cross_entropy_slope(double*, std::span<const int>, std::int64_t, double);

}  // namespace collbench

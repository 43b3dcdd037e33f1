// The network of layers on the CPU.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

#include "training/elements.h"
#include "training/engines/aligned_array.h"
#include "training/engines/layer.h"
#include "training/engines/stage_chain.h"
#include "transports/exact_check.h"

namespace collbench {
namespace {

/// Softmax and sparse categorical cross-entropy, the end of every model, of one row of `classes`
/// scores for each label: turns the scores into probabilities in place.
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

/// The gradient of `scale` times the summed loss with respect to the scores, in place of the
/// probabilities.
template <class T>
void softmax_cross_entropy_slope(T* probabilities, std::span<const int> labels,
                                 std::int64_t classes, double scale) {
  for (const int label : labels) {
    probabilities[label] -= T{1};
    for (std::int64_t j = 0; j < classes; ++j) probabilities[j] *= static_cast<T>(scale);
    probabilities += classes;
  }
}

template <class T>
Region region(AlignedArray<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size(),
          sizeof(T) == sizeof(float) ? DataType::f32 : DataType::f64};
}

template <class T>
SlopeWork<T> slope_work() {
  const auto add = [](const T* __restrict from, T* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  };
  const auto spread = [](const Stage& stage, const T* slope, T* to, std::int64_t samples) {
    const SampleShape& source = stage.shortcut_shape;
    std::fill_n(to, samples * source.size(), T{0});
    for_each_shortcut_pixel(stage, samples, [&](std::int64_t pixel, std::int64_t from) {
      std::copy_n(slope + pixel * stage.out.channels, source.channels, to + from * source.channels);
    });
  };
  return {add, spread};
}

template <class T>
class LayeredNetwork final : public Network {
 public:
  LayeredNetwork(const Model& model, std::int64_t samples, bool fused,
                 const LayerMaker<T>& make_layer)
      : samples_(samples),
        input_(model.input.size()),
        classes_(model.classes),
        parameters_(parameters_of(model)),
        gradients_(parameters_of(model)),
        statistics_(elements_of(statistics_of(model))),
        chain_(model, samples, fused, {parameters_.data(), gradients_.data(), statistics_.data()},
               make_layer, slope_work<T>()) {}

  Region parameters() override { return region(parameters_); }
  Region gradients() override { return region(gradients_); }
  Region statistics() override { return region(statistics_); }

  Score forward(const Batch& batch) override { return run(batch, true); }
  Score evaluate(const Batch& batch) override { return run(batch, false); }

  void backward(double scale, const GradientsReady& ready) override {
    softmax_cross_entropy_slope<T>(chain_.out(), labels_, classes_, scale);
    chain_.backward(std::ssize(labels_), ready);
  }

  void announce_parameters(ParametersNeeded needed) override {
    chain_.announce_parameters(std::move(needed));
  }
  void set_parameters(std::span<const double> values) override {
    set_values(region(parameters_), values);
  }
  std::vector<double> copy_of_parameters() const override {
    return {parameters_.begin(), parameters_.end()};
  }
  std::uint64_t fingerprint(std::int64_t first, std::int64_t count) const override {
    return hash_bits(
        std::as_bytes(std::span(parameters_.data() + first, static_cast<std::size_t>(count))));
  }

 private:
  Score run(const Batch& batch, bool training) {
    assert(static_cast<std::int64_t>(batch.labels.size()) <= samples_);
    assert(std::ssize(batch.images) == std::ssize(batch.labels) * input_);
    labels_.assign(batch.labels.begin(), batch.labels.end());
    std::copy(batch.images.begin(), batch.images.end(), chain_.in());
    chain_.forward(std::ssize(labels_), training);
    return softmax_cross_entropy<T>(chain_.out(), labels_, classes_);
  }

  std::int64_t samples_;
  std::int64_t input_;  // values of a sample
  std::int64_t classes_;
  AlignedArray<T> parameters_;
  AlignedArray<T> gradients_;
  AlignedArray<T> statistics_;
  StageChain<T, AlignedArray<T>> chain_;
  std::vector<int> labels_;
};

}  // namespace

template <class T>
std::unique_ptr<Network> make_layered_network(const Model& model, std::int64_t samples, bool fused,
                                              const LayerMaker<T>& make_layer) {
  return std::make_unique<LayeredNetwork<T>>(model, samples, fused, make_layer);
}

template std::unique_ptr<Network> make_layered_network(const Model&, std::int64_t, bool,
                                                       const LayerMaker<float>&);
template std::unique_ptr<Network> make_layered_network(const Model&, std::int64_t, bool,
                                                       const LayerMaker<double>&);

}  // namespace collbench

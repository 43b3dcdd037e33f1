// The engine of plain loops: any model of the table, in f32 or, as the oracle, in f64.
#include <algorithm>
#include <cassert>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"
#include "training/engine.h"
#include "training/plain_layers.h"

namespace collbench {
namespace {

/// The bits of `bytes` bytes mixed 8 at a time, a bijection of the running value at each step.
std::uint64_t hash_of(const std::byte* data, std::size_t bytes) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
  std::uint64_t hash = odd ^ bytes;
  for (std::size_t at = 0; at < bytes; at += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(sizeof word, bytes - at));
    hash = (hash ^ word) * odd;
    hash ^= hash >> 32;
  }
  return hash;
}

template <class T>
class PlainNetwork final : public Network {
 public:
  PlainNetwork(const Model& model, std::int64_t samples)
      : classes_(model.classes),
        samples_(samples),
        parameters_(static_cast<std::size_t>(parameters_of(model))),
        gradients_(parameters_.size()) {
    const std::vector<Tensor> tensors = tensors_of(model);
    SampleShape shape = model.input;
    std::int64_t largest = shape.size();
    values_.emplace_back(static_cast<std::size_t>(samples * shape.size()));
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const SampleShape in = shape;
      shape = output_of(model.layers[i], in);
      if (model.layers[i].kind == LayerKind::flatten) continue;
      const auto bias = std::find_if(tensors.begin(), tensors.end(), [i](const Tensor& tensor) {
        return tensor.layer == static_cast<int>(i);
      });
      Stage stage;
      LayerMemory<T> memory;
      if (bias != tensors.end()) {
        memory = {parameters_.data() + bias->first, gradients_.data() + bias->first};
        stage.ready = std::next(bias)->first + std::next(bias)->count;
      }
      stage.layer = make_plain_layer<T>(model.layers[i], in, memory);
      stages_.push_back(std::move(stage));
      values_.emplace_back(static_cast<std::size_t>(samples * shape.size()));
      largest = std::max(largest, shape.size());
    }
    require(shape == SampleShape{1, 1, model.classes},
            fmt::format("model {} ends in {} values, not in {} classes", model.name,
                        to_string(shape), model.classes));
    for (std::vector<T>& slope : slopes_) {
      slope.resize(static_cast<std::size_t>(samples * largest));
    }
  }

  Region parameters() override { return region(parameters_); }
  Region gradients() override { return region(gradients_); }

  Score forward(const Batch& batch) override {
    const auto n = static_cast<std::int64_t>(batch.labels.size());
    assert(n <= samples_ && batch.images.size() <= values_.front().size());
    labels_.assign(batch.labels.begin(), batch.labels.end());
    std::copy(batch.images.begin(), batch.images.end(), values_.front().begin());
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      stages_[i].layer->forward(values_[i].data(), values_[i + 1].data(), n);
    }
    return softmax_cross_entropy<T>(values_.back().data(), labels_, classes_);
  }

  void backward(double scale, const GradientsReady& ready) override {
    const auto n = static_cast<std::int64_t>(labels_.size());
    softmax_cross_entropy_slope<T>(values_.back().data(), labels_, classes_, scale);
    const T* slope = values_.back().data();
    for (std::size_t i = stages_.size(); i-- > 0;) {
      PlainLayer<T>& layer = *stages_[i].layer;
      layer.backward_parameters(values_[i].data(), slope, n);
      if (stages_[i].ready > 0) ready(stages_[i].ready);
      if (i == 0) break;  // nobody asks for the gradient of the images
      T* next = slopes_[i % 2].data();
      layer.backward_data(values_[i].data(), values_[i + 1].data(), slope, next, n);
      slope = next;
    }
  }

  void set_parameters(std::span<const double> values) override {
    assert(values.size() == parameters_.size());
    std::transform(values.begin(), values.end(), parameters_.begin(),
                   [](double value) { return static_cast<T>(value); });
  }
  std::vector<double> copy_of_parameters() const override {
    return {parameters_.begin(), parameters_.end()};
  }
  std::uint64_t fingerprint(std::int64_t first, std::int64_t count) const override {
    return hash_of(reinterpret_cast<const std::byte*>(parameters_.data() + first),
                   static_cast<std::size_t>(count) * sizeof(T));
  }

 private:
  struct Stage {
    std::unique_ptr<PlainLayer<T>> layer;
    std::int64_t ready = 0;  // where its gradients end; 0 without parameters
  };

  Region region(std::vector<T>& values) {
    return {reinterpret_cast<std::byte*>(values.data()), static_cast<std::int64_t>(values.size()),
            sizeof(T) == sizeof(float) ? DataType::f32 : DataType::f64};
  }

  std::int64_t classes_;
  std::int64_t samples_;
  std::vector<T> parameters_;
  std::vector<T> gradients_;
  std::vector<Stage> stages_;
  std::vector<std::vector<T>> values_;  // the images, then the output of each stage
  std::vector<T> slopes_[2];            // of the values between two stages, in turn
  std::vector<int> labels_;
};

}  // namespace

std::unique_ptr<Network> make_plain_network(const Model& model, std::int64_t samples,
                                            DataType type) {
  if (type == DataType::f32) return std::make_unique<PlainNetwork<float>>(model, samples);
  if (type == DataType::f64) return std::make_unique<PlainNetwork<double>>(model, samples);
  throw Unavailable(fmt::format("engine plain computes in f32 or f64, not {}", to_string(type)));
}

}  // namespace collbench

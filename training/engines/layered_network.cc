// The network of layers on the CPU: where the values of a batch lie, and the two passes over them.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "training/engines/aligned_array.h"
#include "training/engines/layer.h"
#include "training/engines/softmax.h"

namespace collbench {
namespace {

/// The bits of `bytes` bytes mixed 8 at a time, a bijection of the running value at each step
/// (George Marsaglia's xorshift). Eight sequences side by side, so that the compiler uses vectors.
std::uint64_t hash_of(const std::byte* data, std::size_t bytes) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
  constexpr std::size_t lanes = 8;
  std::uint64_t hashes[lanes];
  for (std::size_t i = 0; i < lanes; ++i) hashes[i] = odd * (i + 1) ^ bytes;
  const auto mix = [&hashes](const std::uint64_t* words) {
    for (std::size_t i = 0; i < lanes; ++i) hashes[i] ^= words[i];
    for (std::uint64_t& hash : hashes) hash ^= hash << 13;
    for (std::uint64_t& hash : hashes) hash ^= hash >> 7;
    for (std::uint64_t& hash : hashes) hash ^= hash << 17;
  };
  std::uint64_t words[lanes];
  for (; bytes >= sizeof words; bytes -= sizeof words, data += sizeof words) {
    std::memcpy(words, data, sizeof words);
    mix(words);
  }
  std::memset(words, 0, sizeof words);
  std::memcpy(words, data, bytes);
  mix(words);
  std::uint64_t hash = 0;
  for (const std::uint64_t of_lane : hashes) {
    hash = (hash ^ of_lane) * odd;
    hash ^= hash >> 32;
  }
  return hash;
}

template <class T>
Region region(AlignedArray<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size(),
          sizeof(T) == sizeof(float) ? DataType::f32 : DataType::f64};
}

/// The gradient of a shortcut's source, from that of what it was added to.
template <class T>
void spread(const T* slope, const SampleShape& shape, T* to, const SampleShape& source,
            std::int64_t samples) {
  std::fill_n(to, samples * source.size(), T{0});
  const std::int64_t step = source.height == shape.height && source.width == shape.width ? 1 : 2;
  for (std::int64_t line = 0; line < samples * shape.height; ++line) {
    const std::int64_t sample = line / shape.height;
    const std::int64_t row = sample * source.height + line % shape.height * step;
    for (std::int64_t x = 0; x < shape.width; ++x, slope += shape.channels) {
      std::copy_n(slope, source.channels, to + (row * source.width + x * step) * source.channels);
    }
  }
}

template <class T>
class LayeredNetwork final : public Network {
 public:
  LayeredNetwork(const Model& model, std::int64_t samples, bool fused,
                 const LayerMaker<T>& make_layer)
      : samples_(samples),
        classes_(model.classes),
        stages_(stages_of(model, fused)),
        parameters_(parameters_of(model)),
        gradients_(parameters_of(model)),
        statistics_(elements_of(statistics_of(model))) {
    const std::vector<Tensor> tensors = tensors_of(model);
    const std::vector<Tensor> statistics = statistics_of(model);
    const auto first_of = [](const std::vector<Tensor>& all, int layer) {
      return std::find_if(all.begin(), all.end(),
                          [layer](const Tensor& tensor) { return tensor.layer == layer; });
    };
    for (const Tensor& tensor : statistics) {
      std::fill_n(statistics_.data() + tensor.first, tensor.count, static_cast<T>(tensor.start));
    }
    std::int64_t largest = model.input.size();
    values_.emplace_back(samples * largest);
    for (const Stage& stage : stages_) {
      LayerMemory<T> memory;
      std::int64_t ready = 0;
      auto tensor = first_of(tensors, stage.layer);
      if (tensor != tensors.end()) {
        memory = {parameters_.data() + tensor->first, gradients_.data() + tensor->first};
      }
      for (; tensor != tensors.end() && tensor->layer == stage.layer; ++tensor) {
        ready = tensor->first + tensor->count;
      }
      const auto moving = first_of(statistics, stage.layer);
      if (moving != statistics.end()) memory.statistics = statistics_.data() + moving->first;
      layers_.push_back(make_layer(stage, memory));
      ready_.push_back(ready);
      values_.emplace_back(samples * stage.out.size());
      largest = std::max(largest, stage.out.size());
    }
    for (AlignedArray<T>& slope : slopes_) slope = AlignedArray<T>(samples * largest);
  }

  Region parameters() override { return region(parameters_); }
  Region gradients() override { return region(gradients_); }
  Region statistics() override { return region(statistics_); }

  Score forward(const Batch& batch) override { return run(batch, true); }
  Score evaluate(const Batch& batch) override { return run(batch, false); }

  void backward(double scale, const GradientsReady& ready) override {
    T* slope = values_.back().data();
    softmax_cross_entropy_slope<T>(slope, labels_, classes_, scale);
    T* kept = nullptr;  // the gradient of value `kept_for` that came over a shortcut
    int kept_for = -1;
    for (std::size_t i = stages_.size(); i-- > 0;) {
      const Stage& stage = stages_[i];
      const LayerPass<T> pass = pass_of(i, true);
      if (kept_for == static_cast<int>(i) + 1) {
        add(kept, slope, pass.samples * stage.out.size());
        kept = nullptr;
      }
      layers_[i]->backward_parameters(pass, slope);
      if (ready_[i] > 0) ready(ready_[i]);
      if (i == 0) break;  // the gradient of the images is not needed
      T* next = unused(slope, kept);
      layers_[i]->backward_data(pass, slope, next);
      if (stage.shortcut >= 0) {
        kept = slope;
        kept_for = stage.shortcut;
        if (stage.shortcut_shape != stage.out) {
          kept = unused(slope, next);
          spread(slope, stage.out, kept, stage.shortcut_shape, pass.samples);
        }
      }
      slope = next;
    }
  }

  void set_parameters(std::span<const double> values) override {
    assert(static_cast<std::int64_t>(values.size()) == parameters_.size());
    std::transform(values.begin(), values.end(), parameters_.data(),
                   [](double value) { return static_cast<T>(value); });
  }
  std::vector<double> copy_of_parameters() const override {
    return {parameters_.data(), parameters_.data() + parameters_.size()};
  }
  std::uint64_t fingerprint(std::int64_t first, std::int64_t count) const override {
    return hash_of(reinterpret_cast<const std::byte*>(parameters_.data() + first),
                   static_cast<std::size_t>(count) * sizeof(T));
  }

 private:
  Score run(const Batch& batch, bool training) {
    assert(static_cast<std::int64_t>(batch.labels.size()) <= samples_);
    assert(batch.images.size() == batch.labels.size() * stages_.front().in.size());
    labels_.assign(batch.labels.begin(), batch.labels.end());
    std::copy(batch.images.begin(), batch.images.end(), values_.front().data());
    for (std::size_t i = 0; i < stages_.size(); ++i) layers_[i]->forward(pass_of(i, training));
    return softmax_cross_entropy<T>(values_.back().data(), labels_, classes_);
  }

  LayerPass<T> pass_of(std::size_t stage, bool training) {
    const int shortcut = stages_[stage].shortcut;
    return {static_cast<std::int64_t>(labels_.size()), values_[stage].data(),
            values_[stage + 1].data(),
            shortcut < 0 ? nullptr : values_[static_cast<std::size_t>(shortcut)].data(), training};
  }

  /// Memory for a gradient, other than these.
  T* unused(const T* first, const T* second) {
    for (AlignedArray<T>& slope : slopes_) {
      if (slope.data() != first && slope.data() != second) return slope.data();
    }
    return nullptr;
  }

  static void add(const T* __restrict from, T* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  }

  std::int64_t samples_;
  std::int64_t classes_;
  std::vector<Stage> stages_;
  AlignedArray<T> parameters_;
  AlignedArray<T> gradients_;
  AlignedArray<T> statistics_;
  std::vector<std::unique_ptr<Layer<T>>> layers_;  // of the stages
  std::vector<std::int64_t> ready_;                // where their gradients end; 0 without any
  std::vector<AlignedArray<T>> values_;            // the images, then the outcome of each stage
  AlignedArray<T> slopes_[3];                      // of the values between two stages
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

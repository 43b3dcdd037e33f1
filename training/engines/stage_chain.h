// The stages of a network and the values between them: where a batch lies, and the two passes over
// it, the same on CPUs and GPUs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "training/engines/layer.h"

namespace collbench {

/// What is done with the gradients of values and of shortcuts, where they lie.
template <class T>
struct SlopeWork {
  std::function<void(const T* from, T* to, std::int64_t count)> add;  // to += from
  /// The gradient of the shortcut's source, from that of the stage's outcome.
  std::function<void(const Stage& stage, const T* slope, T* to, std::int64_t samples)> spread;
  /// Before a gradient is written where there was another; may be empty.
  std::function<void(const T* memory)> reuse{};
};

/// `Array` is an array of T in the memory that layers work on. Thread safety: one thread.
template <class T, class Array>
class StageChain {
 public:
  /// For batches of up to `samples`. `flat` is where the vectors of all layers begin; the
  /// statistics get the values that they start with. Throws as shapes_of() does.
  StageChain(const Model& model, std::int64_t samples, bool fused, const LayerMemory<T>& flat,
             const LayerMaker<T>& make_layer, SlopeWork<T> slope_work)
      : stages_(stages_of(model, fused)), slope_work_(std::move(slope_work)) {
    const std::vector<Tensor> statistics = statistics_of(model);
    for (const Tensor& tensor : statistics) {
      std::fill_n(flat.statistics + tensor.first, tensor.count, static_cast<T>(tensor.start));
    }
    std::int64_t largest = model.input.size();
    values_.emplace_back(samples * largest);
    for (const Stage& stage : stages_) {
      LayerMemory<T> memory;
      const auto [first, end] = range_of(tensors_of(model), stage.layer);
      if (end > 0) memory = {flat.parameters + first, flat.gradients + first};
      const auto [moving, moving_end] = range_of(statistics, stage.layer);
      if (moving_end > 0) memory.statistics = flat.statistics + moving;
      layers_.push_back(make_layer(stage, memory));
      parameters_.push_back({first, end});
      values_.emplace_back(samples * stage.out.size());
      largest = std::max(largest, stage.out.size());
    }
    for (Array& slope : slopes_) slope = Array(samples * largest);
  }

  void announce_parameters(ParametersNeeded needed) { needed_ = std::move(needed); }

  T* in() { return values_.front().data(); }
  T* out() { return values_.back().data(); }

  void forward(std::int64_t samples, bool training) {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      announce(i);
      layers_[i]->forward(pass_of(i, samples, training));
    }
  }

  /// From the gradient of the outcome, which lies in its place. `ready` as in Network::backward().
  void backward(std::int64_t samples, const GradientsReady& ready) {
    T* slope = out();
    T* kept = nullptr;  // the gradient of value `kept_for` that came over a shortcut
    int kept_for = -1;
    for (std::size_t i = stages_.size(); i-- > 0;) {
      const Stage& stage = stages_[i];
      const LayerPass<T> pass = pass_of(i, samples, true);
      if (kept_for == static_cast<int>(i) + 1) {
        slope_work_.add(kept, slope, samples * stage.out.size());
        kept = nullptr;
      }
      announce(i);
      layers_[i]->backward_parameters(pass, slope);
      if (parameters_[i].end > 0) ready(parameters_[i].end);
      if (i == 0) break;  // the gradient of the images is not needed
      T* next = unused(slope, kept);
      layers_[i]->backward_data(pass, slope, next);
      if (stage.shortcut >= 0) {
        kept = slope;
        kept_for = stage.shortcut;
        if (stage.shortcut_shape != stage.out) {
          kept = unused(slope, next);
          slope_work_.spread(stage, slope, kept, samples);
        }
      }
      slope = next;
    }
  }

 private:
  struct Range {
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  void announce(std::size_t stage) const {
    const Range& range = parameters_[stage];
    if (needed_ && range.end > 0) needed_(range.first, range.end);
  }
  /// Where the tensors of a layer begin and end; 0 without any.
  static std::pair<std::int64_t, std::int64_t> range_of(const std::vector<Tensor>& tensors,
                                                        int layer) {
    std::int64_t count = 0;
    std::int64_t end = 0;
    for (const Tensor& tensor : tensors) {
      if (tensor.layer != layer) continue;
      count += tensor.count;
      end = tensor.first + tensor.count;
    }
    return {end - count, end};
  }

  LayerPass<T> pass_of(std::size_t stage, std::int64_t samples, bool training) {
    const int shortcut = stages_[stage].shortcut;
    return {samples, values_[stage].data(), values_[stage + 1].data(),
            shortcut < 0 ? nullptr : values_[static_cast<std::size_t>(shortcut)].data(), training};
  }

  /// Memory for a gradient, other than these.
  T* unused(const T* first, const T* second) {
    T* const found = std::find_if(std::begin(slopes_), std::end(slopes_), [&](Array& slope) {
                       return slope.data() != first && slope.data() != second;
                     })->data();
    if (slope_work_.reuse) slope_work_.reuse(found);
    return found;
  }

  std::vector<Stage> stages_;
  SlopeWork<T> slope_work_;
  std::vector<std::unique_ptr<Layer<T>>> layers_;  // of the stages
  std::vector<Range> parameters_;                  // of the stages; 0 to 0 without any
  ParametersNeeded needed_;
  std::vector<Array> values_;  // the images, then the outcome of each stage
  Array slopes_[3];            // of the values between two stages
};

}  // namespace collbench

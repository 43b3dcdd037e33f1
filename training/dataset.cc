#include "training/dataset.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

double unit(RandomEngine& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// Waves of up to two periods across each direction; values 0 to 1.
std::vector<double> pattern(const SampleShape& shape, std::uint64_t seed, int label) {
  RandomEngine random = random_engine(seed, "pattern", static_cast<std::uint64_t>(label));
  std::vector<double> values(static_cast<std::size_t>(shape.size()), 0.5);
  for (int wave = 0; wave < 2; ++wave) {
    const double down = 4 * unit(random) - 2;
    const double across = 4 * unit(random) - 2;
    const double deep = 4 * unit(random) - 2;
    const double phase = unit(random);
    std::size_t at = 0;
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        for (int c = 0; c < shape.channels; ++c) {
          const double turns = down * y / shape.height + across * x / shape.width +
                               deep * c / shape.channels + phase;
          values[at++] += 0.25 * std::cos(2 * std::numbers::pi * turns);
        }
      }
    }
  }
  return values;
}

}  // namespace

Dataset synthetic_dataset(const SampleShape& shape, int classes, std::int64_t count,
                          std::uint64_t seed, std::string_view part) {
  require(classes >= 1 && count >= 1,
          fmt::format("synthetic data need at least 1 class and 1 sample, not {} and {}", classes,
                      count));
  const Bytes needed = Bytes{sizeof(float)} * count * shape.size();
  const Bytes available = available_memory();
  if (needed > available) {
    const auto gibibytes = [](Bytes size) { return static_cast<double>(size.count) * 0x1p-30; };
    throw Unavailable(fmt::format(
        "{} synthetic samples of {} need {:.1f} GiB of memory; {:.1f} GiB are available", count,
        to_string(shape), gibibytes(needed), gibibytes(available)));
  }
  Dataset data;
  data.description = fmt::format("{} synthetic samples (class patterns and noise)", count);
  data.shape = shape;
  data.classes = classes;
  std::vector<std::vector<double>> patterns;
  for (int label = 0; label < classes; ++label) patterns.push_back(pattern(shape, seed, label));
  RandomEngine random = random_engine(seed, fmt::format("noise of {}", part));
  data.images.reserve(static_cast<std::size_t>(count * shape.size()));
  for (std::int64_t i = 0; i < count; ++i) {
    const int label = static_cast<int>(i % classes);
    data.labels.push_back(label);
    for (const double value : patterns[static_cast<std::size_t>(label)]) {
      data.images.push_back(static_cast<float>(value + unit(random) - 0.5));
    }
  }
  return data;
}

BatchOrder::BatchOrder(std::int64_t samples, std::int64_t batch, std::uint64_t seed)
    : samples_(samples), batch_(batch), seed_(seed) {
  require(batch >= 1 && batch <= samples,
          fmt::format("a global batch of {} does not fit {} samples: it is 1 to {}", batch, samples,
                      samples));
}

void BatchOrder::gather(const Dataset& data, std::int64_t step, std::int64_t offset,
                        std::int64_t count, std::vector<float>& images, std::vector<int>& labels) {
  assert(data.size() == samples_ && offset + count <= batch_);
  if (step / batches_per_pass() != pass_) {
    pass_ = step / batches_per_pass();
    order_.resize(static_cast<std::size_t>(samples_));
    std::iota(order_.begin(), order_.end(), 0);
    // Fisher and Yates's shuffle, written out because that of the library is not fixed.
    RandomEngine random = random_engine(seed_, "order", static_cast<std::uint64_t>(pass_));
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
  }
  const std::int64_t first = step % batches_per_pass() * batch_ + offset;
  const std::int64_t size = data.shape.size();
  images.resize(static_cast<std::size_t>(count * size));
  labels.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t sample = order_[static_cast<std::size_t>(first + i)];
    std::copy_n(data.images.begin() + sample * size, size, images.begin() + i * size);
    labels[static_cast<std::size_t>(i)] = data.labels[static_cast<std::size_t>(sample)];
  }
}

}  // namespace collbench

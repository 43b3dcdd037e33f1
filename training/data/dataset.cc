#include "training/data/dataset.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "core/random.h"
#include "transports/exact_check.h"

namespace collbench {
namespace {

/// Waves of up to two periods across each direction; values 0 to 1.
std::vector<double> pattern(const SampleShape& shape, std::uint64_t seed, int label) {
  RandomEngine random = random_engine(seed, "pattern", static_cast<std::uint64_t>(label));
  std::vector<double> values(static_cast<std::size_t>(shape.size()), 0.5);
  for (int wave = 0; wave < 2; ++wave) {
    const double down = 4 * uniform(random) - 2;
    const double across = 4 * uniform(random) - 2;
    const double deep = 4 * uniform(random) - 2;
    const double phase = uniform(random);
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

std::string digest_of(const Dataset& data) {
  const std::uint64_t images = hash_bits(std::as_bytes(std::span(data.images)));
  const std::uint64_t labels = hash_bits(std::as_bytes(std::span(data.labels)));
  return fmt::format("{:016x}", images ^ std::rotl(labels, 1));
}

Dataset synthetic_dataset(const SampleShape& shape, int classes, std::int64_t count,
                          std::uint64_t seed, std::string_view part) {
  require(classes >= 1 && count >= 1,
          fmt::format("synthetic data need at least 1 class and 1 sample, not {} and {}", classes,
                      count));
  require_available(Bytes{sizeof(float)} * count * shape.size(),
                    fmt::format("{} synthetic samples of {}", count, to_string(shape)));
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
      data.images.push_back(static_cast<float>(value + uniform(random) - 0.5));
    }
  }
  return data;
}

}  // namespace collbench

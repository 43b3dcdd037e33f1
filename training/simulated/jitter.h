// How much longer each simulated worker computes in each step: some always, all by chance.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace collbench {

/// Thread safety: const.
class Slowness {
 public:
  /// The factor of a worker is exp(jitter z), z standard normal, times that of `slow_workers`.
  /// Requires workers in range.
  Slowness(int workers, double jitter, const std::vector<std::pair<int, double>>& slow_workers,
           std::uint64_t seed);
  /// Equal arguments give equal factors on every machine.
  double of(int worker, std::int64_t step) const;

 private:
  double jitter_;
  std::uint64_t seed_;
  std::vector<double> fixed_;
};

}  // namespace collbench

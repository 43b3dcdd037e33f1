#include "training/simulated/jitter.h"

#include <cmath>
#include <numbers>

#include "core/random.h"

namespace collbench {
Slowness::Slowness(int workers, double jitter,
                   const std::vector<std::pair<int, double>>& slow_workers, std::uint64_t seed)
    : jitter_(jitter), seed_(seed), fixed_(static_cast<std::size_t>(workers), 1.0) {
  for (const auto& [worker, factor] : slow_workers) {
    fixed_[static_cast<std::size_t>(worker)] *= factor;
  }
}

double Slowness::of(int worker, std::int64_t step) const {
  const auto place = static_cast<std::size_t>(worker);
  if (jitter_ == 0) return fixed_[place];
  const std::uint64_t index = static_cast<std::uint64_t>(step) * fixed_.size() + place;
  RandomEngine engine = random_engine(seed_, "slowness", index);
  // Box and Muller 1958.
  const double radius = std::sqrt(-2 * std::log(1 - uniform(engine)));
  return fixed_[place] *
         std::exp(jitter_ * radius * std::cos(2 * std::numbers::pi * uniform(engine)));
}

}  // namespace collbench

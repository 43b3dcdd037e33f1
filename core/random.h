// The only source of seeds, so that every random choice of a run can be repeated from one number.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

namespace collbench {

using RandomEngine = std::mt19937_64;

/// An engine for one purpose ("inputs", "order") and one index (rank, round) of a run's `seed`.
/// Equal arguments give equal streams on every machine; distinct purposes are independent.
RandomEngine random_engine(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);

/// In [0, 1), the same on every machine.
inline double uniform(RandomEngine& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}

}  // namespace collbench

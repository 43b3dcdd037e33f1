// A rank that is made to arrive late at its all-reduces, by the faults `late` of --inject.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "transports/faults/injected_fault.h"

namespace collbench {

/// Thread safety: belongs to the thread of its rank.
class InjectedLateness {
 public:
  /// Throws as parse_injected_faults() does.
  InjectedLateness(std::string_view faults, Rank rank);
  /// Called where the rank is ready for its next all-reduce: sleeps if it shall be late.
  void arrive();

 private:
  Rank rank_;
  std::int64_t number_ = 0;
  std::vector<std::pair<InjectedFault, std::mt19937_64>> faults_;
};

}  // namespace collbench

// A predicted time and how sure it is.
#pragma once

#include <string>

#include "core/units.h"

namespace collbench {

struct Estimate {
  Seconds time{0};
  Seconds low{0};  // 80 % interval
  Seconds high{0};
  /// In words how far the point is from what was measured; empty within it.
  std::string extrapolates;
};

}  // namespace collbench

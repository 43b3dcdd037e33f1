// The monotonic clock by which calls and steps are timed.
#pragma once

#include <chrono>

#include "core/units.h"

namespace collbench {

inline Seconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace collbench

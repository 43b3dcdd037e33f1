// Beneath each simulated record: which engine played it and why, and what bounds its time.
#pragma once

#include <iosfwd>
#include <memory>

#include "bench/records/report.h"

namespace collbench {

/// Lines that start with "#   ". Shows nothing for real records.
std::unique_ptr<Reporter> explaining_reporter(std::ostream& out);

}  // namespace collbench

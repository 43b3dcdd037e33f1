// What `collbench doctor` finds out: what can run here, and what disturbs measurements.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/team.h"
#include "bench/records/record.h"

namespace collbench {

enum class Health { good, note, bad };

/// One thing that was looked at.
struct Finding {
  std::string what;   // "governor"
  std::string value;  // "powersave"
  Health health = Health::good;
  std::string advice;  // what to do about it; empty if nothing is to be done
};

/// Judges the machine by its environment. Pure: `smt` is "on", "off" or "unknown".
std::vector<Finding> judge(const Environment& environment, const std::string& smt);

}  // namespace collbench

// Names of cases that tell all of them apart.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/records/case.h"

namespace collbench {

/// case_name(), and behind it what it does not say and what is not as usual, "/buffers:cold": the
/// same whatever other cases there are, and in every version. How many calls a sample is of is no
/// part of it.
std::string whole_name(const Case& point);

/// case_name() does not say everything of a case: where several have the same name, what else they
/// differ in follows it, "/buffers:cold". Thread safety: const members may run on any number of
/// threads.
class CaseNames {
 public:
  CaseNames() = default;
  explicit CaseNames(const std::vector<Case>& cases);
  /// Of one of the cases; of another one case_name().
  std::string of(const Case& point) const;

 private:
  std::map<std::string, std::string> longer_;  // by to_json(), of those that need it
};

}  // namespace collbench

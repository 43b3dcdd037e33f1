// Rows of nccl-tests that are not taken, and why.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algorithms/collective.h"

namespace collbench {

struct LeftOutRows {
  int without_operator = 0;
  int with_root = 0;
  int of_others = 0;                   // of a test that is not wanted
  int cut = 0;                         // with fewer columns than others have
  int coarse = 0;                      // halves whose algbw does not tell the time to 1 %
  std::map<std::string, int> unknown;  // by type and operator: "int8 sum"

  /// "left out: 3 rows .."; empty if there are none.
  std::vector<std::string> notes(CollectiveKind wanted) const;
};

}  // namespace collbench

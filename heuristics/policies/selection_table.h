// What a policy chooses over sizes and numbers of workers, with the crossovers: what is exported to
// other libraries, and what `collbench select --table` prints.
//
// Sizes are asked at a factor of two; between two that differ, the crossover is found by bisection
// to 3 %. The first rule begins at 0 and the last has no end, so every size has a rule; beyond the
// sizes asked it is that of the nearest.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "heuristics/policies/policy.h"

namespace collbench {

constexpr Bytes no_end{std::numeric_limits<std::int64_t>::max()};

/// For vectors of `from` to `to` bytes, both included.
struct SizeRule {
  Bytes from;
  Bytes to;
  std::string algorithm;
  std::string protocol;      // empty: none
  std::string library = {};  // empty: there is only one
  bool operator==(const SizeRule&) const = default;
};

struct ScaleRules {
  int workers = 0;
  int nodes = 1;
  std::vector<SizeRule> rules;        // ascending, without gaps
  std::vector<std::string> warnings;  // of the policy, each once, of whatever size
};

struct SelectionTable {
  std::string policy;
  std::string machine;  // in words: "dgx-a100", "shm on 2 cores"
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  Bytes first;  // sizes that were asked
  Bytes last;
  std::vector<ScaleRules> scales;
};

/// Asks `policy` about the question's workers and nodes for sizes from `first` to `last`. Requires
/// 1 <= first <= last. Throws as the policy does.
ScaleRules size_rules(const Policy& policy, const Question& question, Bytes first, Bytes last);

/// Whether the rules begin at 0, follow each other without gaps, and end with no_end. Throws
/// InvalidArgument naming the first that does not.
void check_rules(const ScaleRules& scale);

}  // namespace collbench

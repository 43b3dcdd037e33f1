// The (algorithm spec, ranks) pairs over which the tests of this folder are parameterised.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "algorithms/registry.h"

namespace collbench {

struct Instance {
  std::string spec;
  int ranks;
};

inline void PrintTo(const Instance& instance, std::ostream* out) {
  *out << instance.spec << " with " << instance.ranks << " ranks";
}

/// Specs of every registered algorithm: the default and several option sets each. A row of the
/// registry without an entry in the table of option sets is still tested with its defaults.
std::vector<std::string> tested_specs();

/// Whether `spec` allows `ranks`: make_schedule() refuses exactly the others.
bool allows(const std::string& spec, int ranks);

/// Every spec with every rank count of `counts` that it allows.
std::vector<Instance> instances(const std::vector<int>& counts);

/// 1, 2, ... `last`.
std::vector<int> counts_to(int last);

/// "ring_segments_4_n7": a test name.
std::string instance_name(const Instance& instance);

}  // namespace collbench

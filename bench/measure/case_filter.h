// A filter keeps some cases of a sweep: "algo:ring bytes>=1M workers:(4|8)".
//
// Terms are separated by blanks and all must hold. A term is KEY:VALUE, KEY:(VALUE|VALUE...) or,
// for the numbers, KEY<VALUE with one of < <= > >=. Keys: algo, backend, workers, bytes, type, op,
// place
// ("in" or "out"). An algorithm's name matches it with any options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/records/case.h"

namespace collbench {

/// One term.
struct FilterTerm {
  std::string key;
  std::string comparison;  // ":", "<", "<=", ">" or ">="
  std::vector<std::string> values;
};

/// Reads a filter. Throws InvalidArgument for an unknown key, with the nearest one, and for a value
/// that its key cannot have.
std::vector<FilterTerm> parse_filter(std::string_view text);

/// Whether all terms hold for a case. None holds of what the case does not have.
bool matches(const std::vector<FilterTerm>& filter, const Case& point);

}  // namespace collbench

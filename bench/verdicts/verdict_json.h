// Comparisons as JSON: what `ab` and `compare` found, for programs and for later reports.
//
// The unit is the last word of a key. There is no infinity: an interval that is open is null.
#pragma once

#include <string>

#include "bench/verdicts/verdict.h"

namespace collbench {

/// One indented object.
std::string to_json(const Comparison& comparison);

/// Reads it back. Throws InvalidArgument naming the place for text that is not of this form, and
/// for a schema version other than ours.
Comparison comparison_from_json(const std::string& text);

}  // namespace collbench

// The fields of a case and of how it is simulated, one row each. What handles all of them (JSON,
// and whatever sends, compares or lists cases) walks these tables, so that a new field is one row.
#pragma once

#include <span>
#include <string>

#include "bench/records/json_fields.h"

namespace collbench {

/// In the order in which JSON has them. `simulated` itself is not among the fields of a case.
std::span<const JsonField<Case>> case_fields();
std::span<const JsonField<Simulated>> simulated_fields();

/// A value in words: "yes", "1 MiB", "shm".
std::string field_text(const JsonField<Case>& field, const Case& point);
std::string field_text(const JsonField<Simulated>& field, const Simulated& simulated);

}  // namespace collbench

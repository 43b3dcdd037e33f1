// The fields of a case and of how it is simulated, one row each. What handles all of them (JSON,
// and whatever sends, compares or lists cases) walks these tables, so that a new field is one row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "bench/records/case.h"

namespace collbench {

template <class Owner, class... Values>
using OneMemberOf = std::variant<Values Owner::*...>;

/// `Owner` is Case or Simulated.
template <class Owner>
struct CaseField {
  std::string_view key;   // in JSON; its last word is the unit
  std::string_view name;  // in messages
  OneMemberOf<Owner, std::string, bool, int, std::uint64_t, Bytes, DataType, ReduceOp, Buffers,
              Seconds>
      member;
  bool optional = false;  // left out of JSON where it has its usual value
};

/// In the order in which JSON has them. `simulated` itself is not among the fields of a case.
std::span<const CaseField<Case>> case_fields();
std::span<const CaseField<Simulated>> simulated_fields();

/// A value in words: "yes", "1 MiB", "shm".
std::string field_text(const CaseField<Case>& field, const Case& point);

}  // namespace collbench

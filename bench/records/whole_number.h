// Whole numbers out of JSON. nlohmann-json cuts off what is none ("1.5") and what is out of range
// ("1e30"), which would change a measurement silently; here it is refused.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace collbench {

/// Throws InvalidArgument showing the value, or what the library throws for no number at all.
template <typename Json, typename Integer>
void read_whole(const Json& value, Integer& into) {
  using Signed = std::int64_t;
  using Unsigned = std::uint64_t;
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<Integer>(value.template get<Unsigned>())
          : value.is_number_integer() && std::in_range<Integer>(value.template get<Signed>());
  if (value.is_number()) require(fits, value.dump() + " is no whole number in range");
  into = value.template get<Integer>();
}

template <typename Json, typename Integer>
void read_whole(const Json& value, std::vector<Integer>& into) {
  require(value.is_array(), std::string("a list of whole numbers is a ") + value.type_name());
  into.clear();
  for (const Json& one : value) read_whole(one, into.emplace_back());
}

}  // namespace collbench

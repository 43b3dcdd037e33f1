// Structs as objects of JSON, by one table of their members for writing and reading.
//
// nlohmann-json cuts off what is no whole number ("1.5") and what is out of range ("1e30"), which
// would change a measurement silently; here it is refused.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bench/records/case.h"
#include "core/error.h"
#include "core/json.h"

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
  if (value.is_number()) require(fits, json_text(value) + " is no whole number in range");
  into = value.template get<Integer>();
}

template <typename Json, typename Integer>
void read_whole(const Json& value, std::vector<Integer>& into) {
  require(value.is_array(), std::string("a list of whole numbers is a ") + value.type_name());
  into.clear();
  for (const Json& one : value) read_whole(one, into.emplace_back());
}

/// JSON has no NaN and no infinity: null stands for them.
template <typename Json>
Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

template <class Owner, class... Values>
using OneMemberOf = std::variant<Values Owner::*...>;

/// One member of `Owner`.
template <class Owner>
struct JsonField {
  std::string_view key;  // its last word is the unit: _s, _us or _ns of Seconds
  OneMemberOf<Owner, std::string, bool, int, std::int64_t, std::uint64_t, double, Bytes, DataType,
              CollectiveKind, ReduceOp, Buffers, Seconds, std::vector<int>, std::vector<double>,
              std::vector<std::string>, std::map<std::string, std::string>>
      member;
  std::string_view name = "";  // in messages
  bool optional = false;       // left out of JSON where it has its usual value
};

/// How many of a key's unit a second has.
inline double per_second(std::string_view key) {
  return key.ends_with("_ns") ? 1e9 : (key.ends_with("_us") ? 1e6 : 1);
}

template <typename Json, typename Value>
Json written_value(std::string_view key, const Value& value) {
  if constexpr (std::is_same_v<Value, Seconds>) {
    return finite_or_null<Json>(value.count() * per_second(key));
  } else if constexpr (std::is_same_v<Value, double>) {
    return finite_or_null<Json>(value);
  } else if constexpr (std::is_same_v<Value, Bytes>) {
    return value.count;
  } else if constexpr (std::is_enum_v<Value>) {
    return to_string(value);
  } else {
    return value;
  }
}

/// A number that is null was infinite.
template <typename Json, typename Value>
void read_value(std::string_view key, const Json& value, Value& into) {
  if constexpr (std::is_same_v<Value, Seconds>) {
    into = Seconds{value.template get<double>() * (1 / per_second(key))};
  } else if constexpr (std::is_same_v<Value, double>) {
    into = value.is_null() ? std::numeric_limits<double>::infinity() : value.template get<double>();
  } else if constexpr (std::is_same_v<Value, Bytes>) {
    read_whole(value, into.count);
  } else if constexpr (std::is_same_v<Value, DataType>) {
    into = parse_data_type(value.template get<std::string>());
  } else if constexpr (std::is_same_v<Value, ReduceOp>) {
    into = parse_reduce_op(value.template get<std::string>());
  } else if constexpr (std::is_same_v<Value, CollectiveKind>) {
    into = parse_collective(value.template get<std::string>());
  } else if constexpr (std::is_same_v<Value, Buffers>) {
    into = parse_buffers(value.template get<std::string>());
  } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
    read_whole(value, into);
  } else {
    value.get_to(into);
  }
}

/// The members in the order of the table.
template <typename Json, class Owner>
Json written_fields(const Owner& owner, std::span<const JsonField<Owner>> fields) {
  static const Owner usual;
  Json value = Json::object();
  for (const JsonField<Owner>& field : fields) {
    std::visit(
        [&](auto member) {
          if (field.optional && owner.*member == usual.*member) return;
          value[std::string(field.key)] = written_value<Json>(field.key, owner.*member);
        },
        field.member);
  }
  return value;
}

/// Throws what the library throws for a member that is missing or of another kind.
template <class Owner, typename Json>
Owner read_fields(const Json& value, std::span<const JsonField<Owner>> fields) {
  Owner owner;
  for (const JsonField<Owner>& field : fields) {
    const std::string key(field.key);
    if (field.optional && !value.contains(key)) continue;
    std::visit([&](auto member) { read_value(key, value.at(key), owner.*member); }, field.member);
  }
  return owner;
}

}  // namespace collbench

// The key "crc32c" of an object of JSON that is kept: records are compared and merged for years,
// and a bit that flips must not become a result.
//
// It covers the values, whatever wrote them last: keys sorted, numbers to 17 digits.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {

inline constexpr const char* checksum_key = "crc32c";

// A whole number that a double holds, too: 17 digits write both alike, but take ten times as long,
// and samples are many.
template <typename Json>
std::optional<std::int64_t> small_whole_number(const Json& value) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  if (value.is_number_unsigned() && value.template get<std::uint64_t>() > std::uint64_t{most}) {
    return {};
  }
  if (!value.is_number_integer()) return {};
  const auto whole = value.template get<std::int64_t>();
  return whole >= -most && whole <= most ? std::optional(whole) : std::nullopt;
}

template <typename Json>
void append_plainly(const Json& value, std::string& text) {
  if (const auto whole = small_whole_number(value)) {
    const fmt::format_int digits(*whole);
    text.append(digits.data(), digits.size()).append(" ");
  } else if (value.is_number() && std::isfinite(value.template get<double>())) {
    text += fmt::format("{:.17g} ", value.template get<double>());
  } else if (value.is_object()) {
    std::map<std::string, const Json*> sorted;
    for (const auto& [key, inner] : value.items()) sorted[key] = &inner;
    for (const auto& [key, inner] : sorted) {
      text += key + ':';
      append_plainly(*inner, text);
    }
  } else if (value.is_array()) {
    for (const Json& inner : value) append_plainly(inner, text);
    text += ';';
  } else {  // null also for what is not finite, as it is written
    text += json_text(value);
  }
}

/// That of the object without this key.
template <typename Json>
std::string checksum_of(const Json& object) {
  std::string text;
  append_plainly(object, text);
  return fmt::format("{:08x}", crc32c(text));
}

template <typename Json>
void add_checksum(Json& object) {
  object[checksum_key] = checksum_of(object);
}

/// Throws InvalidArgument if the object states a checksum that it does not fit. One without is of
/// an older version, or was written by others.
template <typename Json>
void check_whole(const Json& object) {
  if (!object.contains(checksum_key)) return;
  Json rest = object;
  rest.erase(checksum_key);
  require(object[checksum_key] == checksum_of(rest),
          fmt::format("it does not fit its checksum, \"{0}\": it is damaged, or was edited (then "
                      "remove \"{0}\")",
                      checksum_key));
}

}  // namespace collbench

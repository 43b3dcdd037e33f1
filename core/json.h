// JSON by nlohmann-json: the only includer of it. Its parser and its writer are compiled once, in
// json.cc: each takes every other source that calls it a second or two.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/plain_text.h"

namespace collbench {

inline constexpr int deepest_json = 100;

/// Json: nlohmann::json or nlohmann::ordered_json. Throws its parse_error if the text is no JSON.
template <typename Json>
Json parse_json(std::string_view text);
/// The same, but its is_discarded() is true if the text is no JSON.
template <typename Json>
Json try_parse_json(std::string_view text);

/// On one line, or with `indent` spaces a level. What is not UTF-8 (a host name, a path) is
/// replaced by U+FFFD.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// Throws InvalidArgument, "WHAT: REASON", where JSON of others is nested deeper than
/// `deepest_json` or holds control characters: names in it reach terminals.
void require_plain_json(std::string_view text, std::string_view what);

/// Calls `read` with the parsed text. Throws InvalidArgument, "WHAT: REASON", where the text is not
/// plain or no JSON, or lacks what `read` asks for.
template <typename Json, typename Read>
auto read_json(std::string_view text, std::string_view what, Read&& read) {
  require_plain_json(text, what);
  const auto refuse = [&](const std::string& reason) {
    return InvalidArgument(std::string(what) + ": " + reason);
  };
  try {
    return read(parse_json<Json>(text));
  } catch (const nlohmann::json::parse_error& error) {
    throw refuse("no JSON: " + library_reason(error));
  } catch (const nlohmann::json::exception& error) {
    throw refuse(library_reason(error));
  }
}

}  // namespace collbench

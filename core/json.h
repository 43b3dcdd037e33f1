// Reading JSON of others: what is wrong with it becomes our error. The only includer of what parses
// JSON, beside those that write it.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/plain_text.h"

namespace collbench {

inline constexpr int deepest_json = 100;

/// Calls `read` with the parsed text. Throws InvalidArgument, "WHAT: REASON", where the text is no
/// JSON, is nested deeper than `deepest_json`, holds control characters (names in it reach
/// terminals), or lacks what `read` asks for.
template <typename Json, typename Read>
auto read_json(std::string_view text, std::string_view what, Read&& read) {
  const auto refuse = [&](const std::string& reason) {
    return InvalidArgument(std::string(what) + ": " + reason);
  };
  // All others are written as they are or have no effect; ESC and the like are 00 to 1f, and 80 to
  // 9f, which may stand there as they are.
  for (const std::string_view start : {"\\u001", "\\u0000", "\\u007f", "\\u008", "\\u009"}) {
    const std::size_t at = text.find(start);
    if (at != text.npos) {
      throw refuse("a control character, " + std::string(text.substr(at, 6)) + ", stands in it");
    }
  }
  for (std::size_t at = 0; (at = text.find('\xc2', at)) < text.size() - 1; ++at) {
    if ((static_cast<unsigned char>(text[at + 1]) & 0xe0U) != 0x80) continue;
    throw refuse("a control character, " + printable(text.substr(at, 2)) + ", stands in it");
  }
  // What follows a value follows its depth on the stack.
  if (deeper_than(text, deepest_json)) {
    throw refuse(fmt::format("it is nested deeper than {} levels", deepest_json));
  }
  try {
    return read(Json::parse(text));
  } catch (const nlohmann::json::parse_error& error) {
    throw refuse("no JSON: " + library_reason(error));
  } catch (const nlohmann::json::exception& error) {
    throw refuse(library_reason(error));
  }
}

}  // namespace collbench

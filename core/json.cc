#include "core/json.h"

#include <fmt/format.h>

namespace collbench {
namespace {

template <typename Json>
std::string written(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

template <typename Json>
Json parse_json(std::string_view text) {
  return Json::parse(text);
}
template <typename Json>
Json try_parse_json(std::string_view text) {
  return Json::parse(text, nullptr, false);
}
template nlohmann::json parse_json(std::string_view text);
template nlohmann::ordered_json parse_json(std::string_view text);
template nlohmann::json try_parse_json(std::string_view text);
template nlohmann::ordered_json try_parse_json(std::string_view text);

std::string json_text(const nlohmann::json& value, int indent) { return written(value, indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return written(value, indent);
}

void require_plain_json(std::string_view text, std::string_view what) {
  const auto refuse = [&](const std::string& reason) {
    throw InvalidArgument(fmt::format("{}: {}", what, reason));
  };
  // All others are written as they are or have no effect; ESC and the like are 00 to 1f, and 80 to
  // 9f, which may stand there as they are.
  for (const std::string_view start : {"\\u001", "\\u0000", "\\u007f", "\\u008", "\\u009"}) {
    const std::size_t at = text.find(start);
    if (at != text.npos) {
      refuse(fmt::format("it holds a control character, {}", text.substr(at, 6)));
    }
  }
  for (std::size_t at = 0; (at = text.find('\xc2', at)) < text.size() - 1; ++at) {
    if ((static_cast<unsigned char>(text[at + 1]) & 0xe0U) != 0x80) continue;
    refuse(fmt::format("it holds a control character, {}", printable(text.substr(at, 2))));
  }
  // What follows a value follows its depth on the stack.
  if (deeper_than(text, deepest_json)) {
    refuse(fmt::format("it is nested deeper than {} levels", deepest_json));
  }
}

}  // namespace collbench

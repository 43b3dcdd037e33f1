#include <algorithm>

#include "algorithms/registry.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr std::string_view file_prefix = "file:";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

AlgorithmSpec parse_algorithm_spec(std::string_view text) {
  const auto refuse = [text](const std::string& why) {
    throw InvalidArgument("algorithm '" + std::string(text) + "': " + why +
                          "; write NAME or NAME:OPTION=VALUE, as in ring:segments=4");
  };
  // A path may hold what separates options elsewhere.
  if (text.starts_with(file_prefix)) {
    return {"file", {{"path", std::string(text.substr(file_prefix.size()))}}};
  }
  AlgorithmSpec spec;
  bool first = true;
  for (std::size_t begin = 0; begin <= text.size(); first = false) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (key.empty()) refuse(first ? "the name is empty" : "an option is empty");
    if (!std::all_of(key.begin(), key.end(), is_name_char)) {
      refuse("'" + std::string(key) + "' may only have a-z, 0-9, - and _");
    }
    if (first) {
      if (equals != part.npos) refuse("the name comes first, without '='");
      spec.name = key;
      continue;
    }
    if (equals != part.npos && equals + 1 == part.size()) {
      refuse("option '" + std::string(key) + "' has no value after '='");
    }
    const std::string_view value = equals == part.npos ? "" : part.substr(equals + 1);
    if (!spec.options.emplace(key, value).second) {
      refuse("option '" + std::string(key) + "' is given twice");
    }
  }
  return spec;
}

std::string to_string(const AlgorithmSpec& spec) {
  if (const auto path = spec.options.find("path");
      spec.name == "file" && path != spec.options.end()) {
    return std::string(file_prefix) + path->second;
  }
  std::string text = spec.name;
  for (const auto& [key, value] : spec.options) {
    text += ":" + key;
    if (!value.empty()) text += "=" + value;
  }
  return text;
}

}  // namespace collbench

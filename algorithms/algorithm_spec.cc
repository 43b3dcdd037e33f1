#include <algorithm>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view file_prefix = "file:";
constexpr std::string_view synth_prefix = "synth:";
constexpr std::string_view network_key = ":topo=";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

AlgorithmSpec parse_algorithm_spec(std::string_view text) {
  const auto refuse = [text](const std::string& why) {
    throw InvalidArgument("algorithm '" + std::string(text) + "': " + why +
                          "; write NAME or NAME:OPTION=VALUE, as in ring:segments=4");
  };
  // A path or a network may hold what separates options elsewhere.
  if (text.starts_with(file_prefix)) {
    return {"file", {{"path", std::string(text.substr(file_prefix.size()))}}};
  }
  const std::size_t network = text.find(network_key);
  if (text.starts_with(synth_prefix) && network != text.npos) {
    AlgorithmSpec made = parse_algorithm_spec(text.substr(0, network));
    made.options["topo"] = text.substr(network + network_key.size());
    return made;
  }
  AlgorithmSpec spec;
  for (const std::string& part : split_at(text, ':')) {
    const bool is_first = spec.name.empty();
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    if (key.empty()) refuse(is_first ? "the name is empty" : "an option is empty");
    if (!std::all_of(key.begin(), key.end(), is_name_char)) {
      refuse("'" + key + "' may only have a-z, 0-9, - and _");
    }
    if (is_first) {
      if (equals != part.npos) refuse("the name comes first, without '='");
      spec.name = key;
      continue;
    }
    const std::string value = equals == part.npos ? "" : part.substr(equals + 1);
    if (equals != part.npos && value.empty()) {
      refuse("option '" + key + "' has no value after '='");
    }
    if (!spec.options.emplace(key, value).second) refuse("option '" + key + "' is given twice");
  }
  return spec;
}

std::string to_string(const AlgorithmSpec& spec) {
  if (const auto path = spec.options.find("path");
      spec.name == "file" && path != spec.options.end()) {
    return std::string(file_prefix) + path->second;
  }
  std::string text = spec.name;
  std::string network;  // comes last
  for (const auto& [key, value] : spec.options) {
    std::string& end = spec.name == "synth" && key == "topo" ? network : text;
    end += ":" + key;
    if (!value.empty()) end += "=" + value;
  }
  return text + network;
}

}  // namespace collbench

#include "heuristics/measurement.h"

#include <fmt/format.h>

namespace collbench {

MethodKey method_of(const MeasuredTime& time) {
  return {time.system, time.library, time.algorithm, time.protocol,
          time.type,   time.op,      time.in_place};
}

std::string full_name(const std::string& algorithm, const std::string& protocol) {
  return protocol.empty() ? algorithm : algorithm + "/" + protocol;
}

bool is_library_default(const std::string& algorithm) {
  return algorithm == "auto" || algorithm == "default" || algorithm == "default-default" ||
         algorithm.rfind("default_", 0) == 0;
}

std::string to_string(const MethodKey& key) {
  std::string text;
  for (const std::string& part : {key.system, key.library, key.algorithm, key.protocol}) {
    if (part.empty()) continue;
    if (!text.empty()) text += ' ';
    text += part;
  }
  if (key.type != DataType::f32) text += fmt::format(" {}", to_string(key.type));
  if (key.op != ReduceOp::sum) text += fmt::format(" {}", to_string(key.op));
  return text + (key.in_place ? " in place" : "");
}

std::string to_string(const Scale& scale) {
  const auto counted = [](int n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  if (scale.nodes == 0) return counted(scale.ranks, "rank");
  return counted(scale.ranks, "rank") + " on " + counted(scale.nodes, "node");
}

}  // namespace collbench

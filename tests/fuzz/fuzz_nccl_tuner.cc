// The parser of tuner rules on any bytes: it refuses, or gives rules that read back as they were.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "heuristics/exports/nccl_plugin/tuner_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace collbench;
  try {
    const auto rules = parse_tuner_rules({reinterpret_cast<const char*>(data), size}, "fuzzed");
    for (const TunerRule& rule : rules) {
      auto again = parse_tuner_rules(to_string(rule), "again");
      if (again.size() != 1) std::abort();
      again[0].line = rule.line;
      if (!(again[0] == rule)) std::abort();
    }
    find_rule(rules, {4, 1 << 20, 2, 16, 1, 0});
  } catch (const TunerFileError&) {
    return 0;
  }
  return 0;
}

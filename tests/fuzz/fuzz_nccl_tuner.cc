// The parser of tuner rules on any bytes: it refuses, or gives rules that read back as they were.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "heuristics/exports/nccl_plugin/tuner_rules.h"

FUZZ_TARGET(nccl_tuner, input) {
  using namespace collbench;
  try {
    const auto rules = parse_tuner_rules(input, "fuzzed");
    for (const TunerRule& rule : rules) {
      auto again = parse_tuner_rules(to_string(rule), "again");
      if (again.size() != 1) std::abort();
      again[0].line = rule.line;
      if (!(again[0] == rule)) std::abort();
    }
    find_rule(rules, {4, 1 << 20, 2, 16, 1, 0});
  } catch (const TunerFileError&) {
    return;
  }
}

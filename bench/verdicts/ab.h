// The interleaved comparison of two versions, `collbench ab`.
//
// Each arm of a round is a fresh process, and their order is random, so that drift of the machine
// affects all alike. The sequential design spends a budget where it decides: after each look at the
// rounds so far, only cases that are still open are measured further. The fixed design has a number
// of rounds; cases that look different after them are suspects and are measured again, and only
// those fresh rounds decide. bench/verdicts/verdict_rules.h has the rules of both.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/verdicts/compare.h"

namespace collbench {

enum class AbArm : std::uint8_t { base, head, again };
/// "base", "head", "again".
std::string_view to_string(AbArm arm);

/// Rounds until every case is decided or the budget is spent, or a fixed number of them.
enum class AbDesign : std::uint8_t { sequential, fixed };

/// One process to run: all cases of the comparison, or some of them.
struct AbTask {
  AbArm arm = AbArm::base;
  std::vector<Case> only = {};  // empty: all
  bool confirms = false;        // of the fixed design's second stage
};

struct AbPlan {
  /// Runs a fresh process and gives its records; nothing if it was stopped before its end.
  /// Throws what the run threw.
  std::function<std::optional<RecordFile>(const AbTask&)> measure;
  GateRule rule;
  AbDesign design = AbDesign::fixed;
  int rounds = 10;          // fixed: screening
  int confirm_rounds = 40;  // fixed: at most, of a suspect; 0: screening decides, all at once
  int starts = 2;           // sequential: processes of each side in a round
  bool noise_arm = true;    // compare base with itself: in the fixed design by a third process
  Seconds budget{600};      // begins no round that would end later, those so far being a guide
  std::uint64_t seed = 1;   // of the order of arms and cases
  std::function<std::string()> stop_requested = [] { return std::string(); };
  /// "round 3 of 10", "round 14, 5 of 12 cases open", "confirming ring/shm/...: round 5 of 40".
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
  /// Seconds since some moment; scripted in tests.
  std::function<Seconds()> now;
};

/// Measures and decides. Ends early, with verdicts on what there is, when a stop is requested or
/// the budget is spent. Throws InvalidArgument for a plan without rounds
/// or, in the sequential design, without a budget.
Comparison run_ab(const AbPlan& plan);

}  // namespace collbench

// The interleaved comparison of two versions, `collbench ab`.
//
// A round measures base, head and base again, in random order, each by a fresh process, so that
// drift of the machine affects all three alike, and base against itself (A/A) shows the smallest
// difference that the machine can resolve. Cases that look different after these screening rounds
// are suspects and are measured again, base and head in turn; only those rounds decide
// (bench/verdicts/verdict_rules.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bench/verdicts/compare.h"

namespace collbench {

enum class AbArm : std::uint8_t { base, head, again };
/// "base", "head", "again".
std::string_view to_string(AbArm arm);

/// One process to run: all cases of the comparison, or one of them.
struct AbTask {
  AbArm arm = AbArm::base;
  const Case* only = nullptr;  // null: all
  bool confirms = false;       // of the second stage
};

struct AbPlan {
  /// Runs a fresh process and gives its records; nothing if it was stopped before its end.
  /// Throws what the run threw.
  std::function<std::optional<RecordFile>(const AbTask&)> measure;
  GateRule rule;
  int rounds = 10;          // screening
  int confirm_rounds = 40;  // at most, of a suspect
  bool noise_arm = true;    // base a second time in every screening round
  Seconds budget{600};     // begins no round that would end later, the longest so far being a guide
  std::uint64_t seed = 1;  // of the order of arms and cases
  std::function<std::string()> stop_requested = [] { return std::string(); };
  /// "round 3 of 10", "confirming ring/shm/...: round 5 of 40".
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
  /// Seconds since some moment; scripted in tests.
  std::function<Seconds()> now;
};

/// Measures and decides. Ends early, with verdicts on what there is, when a stop is requested or
/// the budget is spent. Throws InvalidArgument for a plan without rounds.
Comparison run_ab(const AbPlan& plan);

}  // namespace collbench

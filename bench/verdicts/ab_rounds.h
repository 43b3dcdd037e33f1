// What both designs of the interleaved comparison do alike: run the processes of a round, and see
// when to stop.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "bench/verdicts/ab.h"

namespace collbench {

/// Of each AbArm, in the order of the enumeration: the records of its processes, as they ran.
using ArmFiles = std::array<std::vector<RecordFile>, 3>;

/// Thread safety: belongs to one thread. The plan must outlive it.
class AbRounds {
 public:
  explicit AbRounds(const AbPlan& plan) : plan_(plan), begin_(plan.now()) {}

  Seconds elapsed() const { return plan_.now() - begin_; }
  /// Whether to stop before a round that takes about `cost` and should end before `until`.
  bool stopped(Seconds cost, Seconds until);
  /// One process for each arm, in that order, with all cases or some. False if one did not end;
  /// then the round is left out. Throws what the run threw.
  bool measure(std::span<const AbArm> order, const std::vector<Case>& only, bool confirms,
               ArmFiles& files);
  /// "SIGINT", "budget"; empty while nothing stopped it.
  const std::string& stopped_by() const { return stopped_by_; }
  /// A part of the plan had its share of the budget, the next has its own.
  void forget_budget() {
    if (stopped_by_ == "budget") stopped_by_.clear();
  }

 private:
  const AbPlan& plan_;
  Seconds begin_;
  std::string stopped_by_;
};

/// The comparison of AbDesign::sequential. Throws as run_ab().
Comparison run_sequential(const AbPlan& plan);

/// Warns of so few rounds that they hardly ever show a change.
void warn_of_few_rounds(Comparison& comparison);

}  // namespace collbench

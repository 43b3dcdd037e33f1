// What both designs of the interleaved comparison do alike: run the processes of a round, and see
// when to stop.
#pragma once

#include <array>
#include <map>
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

/// Of the starts that were asked for a case, those of base and head that had it.
struct CaseStarts {
  int asked = 0;
  int base = 0;
  int head = 0;
};
class StartCounts {
 public:
  /// Of a round of so many starts of each side, which were asked for these cases; none: for all.
  void add(const ArmFiles& files, int starts, const std::vector<Case>& only);
  CaseStarts of(const std::string& key) const;

 private:
  std::map<std::string, CaseStarts> cases_;  // `asked` beside the starts that were for all
  int of_all_ = 0;
};

/// A case that head loses now and then is missing; where base does too, a warning says so.
void judge_losses(Verdict& verdict, const CaseStarts& starts, Comparison& comparison);

/// Warns of so few rounds that they hardly ever show a change, where a case is inconclusive.
void warn_of_few_rounds(Comparison& comparison);

}  // namespace collbench

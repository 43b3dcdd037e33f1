#include "bench/verdicts/ab_rounds.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bench/records/report.h"

namespace collbench {
namespace {

constexpr int fewest_telling_rounds = 8;

}  // namespace

bool AbRounds::stopped(Seconds cost, Seconds until) {
  if (!stopped_by_.empty() && stopped_by_ != "budget") return true;
  if (const std::string signal = plan_.stop_requested(); !signal.empty()) {
    stopped_by_ = signal;
    return true;
  }
  if (elapsed() + cost <= until) return false;
  stopped_by_ = "budget";
  return true;
}

bool AbRounds::measure(std::span<const AbArm> order, const std::vector<Case>& only, bool confirms,
                       ArmFiles& files) {
  for (const AbArm arm : order) {
    std::optional<RecordFile> file = plan_.measure({arm, only, confirms});
    if (!file) {
      stopped_by_ = plan_.stop_requested();
      if (stopped_by_.empty()) stopped_by_ = "a signal to its process";
      return false;
    }
    files[static_cast<std::size_t>(arm)].push_back(std::move(*file));
  }
  return true;
}

void StartCounts::add(const ArmFiles& files, int starts, const std::vector<Case>& only) {
  std::set<std::string> asked;
  for (const Case& point : only) asked.insert(case_key(point));
  if (only.empty()) of_all_ += starts;
  for (const std::string& key : asked) cases_[key].asked += starts;
  const auto count = [&](const std::vector<RecordFile>& of_arm, int CaseStarts::*had) {
    for (const RecordFile& file : of_arm) {
      std::set<std::string> seen;
      for (const Record& record : file.records) seen.insert(case_key(record.point));
      for (const std::string& key : seen) {
        if (only.empty() || asked.contains(key)) ++(cases_[key].*had);
      }
    }
  };
  count(files[0], &CaseStarts::base);
  count(files[1], &CaseStarts::head);
}

CaseStarts StartCounts::of(const std::string& key) const {
  const auto found = cases_.find(key);
  CaseStarts starts = found == cases_.end() ? CaseStarts() : found->second;
  starts.asked += of_all_;
  return starts;
}

void judge_losses(Verdict& verdict, const CaseStarts& starts, Comparison& comparison) {
  if (!verdict.base || !verdict.head || verdict.outcome == VerdictOutcome::wrong) return;
  if (starts.base == starts.asked && starts.head < starts.asked) {
    verdict.outcome = VerdictOutcome::missing;
    verdict.reason =
        fmt::format("head has it in {} of {} starts, base in all", starts.head, starts.asked);
  } else if (starts.base < starts.asked) {
    comparison.warnings.push_back(fmt::format("{}: base has it in {} of {} starts, head in {}",
                                              verdict.name, starts.base, starts.asked,
                                              starts.head));
  }
}

void warn_of_few_rounds(Comparison& comparison) {
  const bool all_told = std::ranges::none_of(comparison.verdicts, [](const Verdict& verdict) {
    return verdict.outcome == VerdictOutcome::inconclusive;
  });
  if (all_told || comparison.rounds >= fewest_telling_rounds) return;
  comparison.warnings.push_back(fmt::format("{} rounds: fewer than {} hardly ever show a change",
                                            comparison.rounds, fewest_telling_rounds));
}

}  // namespace collbench

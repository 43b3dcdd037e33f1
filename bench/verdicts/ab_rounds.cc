#include "bench/verdicts/ab_rounds.h"

#include <fmt/format.h>

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

void warn_of_few_rounds(Comparison& comparison) {
  if (comparison.rounds >= fewest_telling_rounds) return;
  comparison.warnings.push_back(fmt::format("{} rounds: fewer than {} hardly ever show a change",
                                            comparison.rounds, fewest_telling_rounds));
}

}  // namespace collbench

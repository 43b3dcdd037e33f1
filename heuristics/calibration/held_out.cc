// Every scale, or every size, predicted from a calibration without it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "heuristics/calibration/calibration.h"

namespace collbench {
namespace {

constexpr std::size_t most_folds = 32;   // of sizes held out one by one
constexpr std::size_t fewer_folds = 20;  // of more sizes: every 20th at a time, not neighbours

/// Rows that count, by system: those of one system may stand in for each other.
std::map<std::string, std::vector<MeasuredTime>> by_system(std::span<const MeasuredTime> rows) {
  std::map<std::string, std::vector<MeasuredTime>> groups;
  for (const MeasuredTime& row : rows) {
    if (!row.is_wrong() && row.scale.ranks != 1) groups[row.system].push_back(row);
  }
  return groups;
}

/// Of the rows left out, those that the others do not predict.
struct Unpredicted {
  std::size_t rows = 0;
  std::size_t of = 0;
  std::string why;  // of the first

  void note(const std::string& what, std::vector<std::string>& notes) const {
    if (rows == 0) return;
    notes.push_back(rows == of ? fmt::format("{}: not held out: {}", what, why)
                               : fmt::format("{}: {} of {} are not held out: {}", what, rows,
                                             counted(std::ptrdiff_t(of), "row"), why));
  }
};

/// Predicts the rows of a group that are left out from the others.
template <typename LeftOut>
void hold_out(const std::vector<MeasuredTime>& group, LeftOut is_left_out,
              std::vector<HeldOut>& held, Unpredicted& missing) {
  std::vector<MeasuredTime> rest;
  std::vector<MeasuredTime> left_out;
  for (const MeasuredTime& row : group) (is_left_out(row) ? left_out : rest).push_back(row);
  const std::size_t before = held.size();
  std::string why;
  try {
    require(!rest.empty(), "no other scale is measured");
    const Calibration calibration(std::move(rest));
    for (const MeasuredTime& row : left_out) {
      const auto predicted = calibration.estimate(method_of(row), row.scale, row.bytes);
      if (predicted) {
        held.push_back({row, *predicted});
      } else if (why.empty()) {
        why = fmt::format("the others say nothing of '{}'", to_string(method_of(row)));
      }
    }
  } catch (const InvalidArgument& e) {
    why = e.what();
  }
  missing.of += left_out.size();
  missing.rows += left_out.size() - (held.size() - before);
  if (missing.why.empty()) missing.why = why;
}

}  // namespace

std::vector<HeldOut> leave_one_scale_out(std::span<const MeasuredTime> rows, bool single_nodes,
                                         std::vector<std::string>& notes) {
  std::vector<HeldOut> held;
  for (const auto& [system, own] : by_system(rows)) {
    std::set<Scale> scales;
    for (const MeasuredTime& row : own) scales.insert(row.scale);
    const bool several =
        std::ranges::any_of(scales, [](const Scale& scale) { return scale.nodes > 1; });
    for (const Scale& scale : scales) {
      if (scale.nodes == 1 && !single_nodes && several) continue;
      Unpredicted missing;
      hold_out(
          own, [&](const MeasuredTime& row) { return row.scale == scale; }, held, missing);
      missing.note(fmt::format("{}{}{}", to_string(scale), system.empty() ? "" : " of ", system),
                   notes);
    }
  }
  return held;
}

std::vector<HeldOut> leave_one_size_out(std::span<const MeasuredTime> rows,
                                        std::vector<std::string>& notes) {
  std::vector<HeldOut> held;
  for (const auto& [system, own] : by_system(rows)) {
    std::map<Bytes, std::size_t> fold_of;
    for (const MeasuredTime& row : own) fold_of[row.bytes] = 0;
    const std::size_t folds = fold_of.size() > most_folds ? fewer_folds : fold_of.size();
    std::size_t next = 0;
    for (auto& [size, fold] : fold_of) fold = next++ % folds;
    Unpredicted missing;
    for (std::size_t fold = 0; fold < folds; ++fold) {
      hold_out(
          own, [&](const MeasuredTime& row) { return fold_of.at(row.bytes) == fold; }, held,
          missing);
    }
    missing.note(fmt::format("sizes{}{}", system.empty() ? "" : " of ", system), notes);
  }
  return held;
}

ErrorSummary summarize_held_out(std::span<const HeldOut> held, Bytes least, Bytes most) {
  std::vector<double> errors;
  int within = 0;
  for (const HeldOut& point : held) {
    if (point.measured.bytes < least || point.measured.bytes > most) continue;
    errors.push_back(point.error());
    const bool inside =
        point.measured.time >= point.predicted.low && point.measured.time <= point.predicted.high;
    within += inside ? 1 : 0;
  }
  ErrorSummary summary = summarize_errors(std::move(errors));
  if (summary.points > 0) summary.within = static_cast<double>(within) / summary.points;
  return summary;
}

}  // namespace collbench

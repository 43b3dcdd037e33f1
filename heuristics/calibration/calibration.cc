#include "heuristics/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/quantile.h"

namespace collbench {
namespace {

constexpr std::size_t least_points = 4;
constexpr double least_span = 16;      // of sizes, largest over smallest
constexpr double contradiction = 1.5;  // median factor between rows of the same point

/// Rows by a property of theirs, without those whose results are wrong.
template <typename Key>
auto grouped(std::span<const MeasuredTime> rows, Key key) {
  std::map<decltype(key(rows[0])), std::vector<MeasuredTime>> groups;
  for (const MeasuredTime& row : rows) {
    if (!row.is_wrong()) groups[key(row)].push_back(row);
  }
  return groups;
}

/// Two rows of one method, scale and size should agree; if most do not, two things are mixed up.
void refuse_contradiction(const MethodKey& method, const std::vector<MeasuredTime>& rows) {
  std::map<std::pair<Scale, Bytes>, std::pair<Seconds, Seconds>> range;
  for (const MeasuredTime& row : rows) {
    auto& [least, most] =
        range.try_emplace({row.scale, row.bytes}, row.time, row.time).first->second;
    least = std::min(least, row.time);
    most = std::max(most, row.time);
  }
  std::erase_if(range, [](const auto& entry) { return entry.second.first == entry.second.second; });
  if (range.size() < 3) return;
  std::multimap<double, const decltype(range)::value_type*> factors;
  for (const auto& entry : range) factors.emplace(entry.second.second / entry.second.first, &entry);
  if (std::next(factors.begin(), std::ssize(factors) / 2)->first <= contradiction) return;
  const auto& [point, times] = *factors.rbegin()->second;
  throw InvalidArgument(fmt::format(
      "the tables of '{}' contradict each other at {} points, half of them by more than {:.2g} "
      "times; {} with {}: {} and {}. If they are different systems, give each a name: "
      "FILE,system=NAME",
      to_string(method), factors.size(), contradiction, to_string(point.second),
      to_string(point.first), to_string(times.first), to_string(times.second)));
}

/// Why a method cannot be fitted; empty if it can.
std::string lacking(const std::vector<MeasuredTime>& rows) {
  std::set<std::int64_t> sizes;
  for (const MeasuredTime& row : rows) sizes.insert(row.bytes.count);
  if (sizes.size() < least_points) {
    return fmt::format("{} size{}, at least {} are needed", sizes.size(),
                       sizes.size() == 1 ? "" : "s", least_points);
  }
  const double span = static_cast<double>(*sizes.rbegin()) / static_cast<double>(*sizes.begin());
  if (span < least_span) {
    return fmt::format("sizes from {} to {}, they must span {} times to tell latency from rate",
                       to_string(Bytes{*sizes.begin()}), to_string(Bytes{*sizes.rbegin()}),
                       least_span);
  }
  return {};
}

bool matches(const std::string& asked, const std::string& own) {
  return asked.empty() || asked == own;
}

/// A library's own choice is one of its algorithms, but one algorithm is not another.
bool stands_for(const std::string& own, const std::string& asked) {
  return own == asked || own == "auto" || asked == "auto";
}

/// Predicts the rows of a group that are left out from the others; what cannot be fitted is said.
template <typename LeftOut>
void hold_out(const std::vector<MeasuredTime>& group, LeftOut is_left_out, const std::string& what,
              std::vector<HeldOut>& held, std::vector<std::string>& notes) {
  std::vector<MeasuredTime> rest;
  std::vector<MeasuredTime> left_out;
  for (const MeasuredTime& row : group) (is_left_out(row) ? left_out : rest).push_back(row);
  try {
    require(!rest.empty(), "no other scale is measured");
    const Calibration calibration(std::move(rest));
    for (const MeasuredTime& row : left_out) {
      const MethodModel* model = calibration.find(method_of(row));
      if (model == nullptr || !stands_for(model->method().algorithm, row.algorithm)) continue;
      held.push_back({row, model->estimate(row.scale, row.bytes)});
    }
  } catch (const InvalidArgument& e) {
    notes.push_back(fmt::format("{} is not held out: {}", what, e.what()));
  }
}

}  // namespace

ErrorSummary summarize_errors(std::vector<double> errors) {
  ErrorSummary summary;
  summary.within = -1;
  if (errors.empty()) return summary;
  for (double& error : errors) error = std::abs(error);
  summary.points = static_cast<int>(errors.size());
  summary.median = quantile(errors, 0.5);
  summary.p90 = quantile(errors, 0.9);
  summary.worst = quantile(std::move(errors), 1);
  return summary;
}

Calibration::Calibration(std::vector<MeasuredTime> rows) {
  std::string first_lack;
  for (auto& [method, own] : grouped(rows, method_of)) {
    refuse_contradiction(method, own);
    const std::string lack = lacking(own);
    if (!lack.empty()) {
      notes_.push_back(fmt::format("'{}' is left out: {}", to_string(method), lack));
      continue;
    }
    models_.emplace_back(std::move(own));
  }
  require(!models_.empty(),
          rows.empty() ? "no measurements to calibrate with"
                       : fmt::format("too few measurements: {}",
                                     notes_.empty() ? "all have wrong results" : notes_.front()));
}

const MethodModel* Calibration::find(const MethodKey& method, std::string* instead) const {
  const MethodModel* best = nullptr;
  int best_score = -1;
  for (const MethodModel& model : models_) {
    const MethodKey& own = model.method();
    if (!matches(method.system, own.system) || !matches(method.library, own.library)) continue;
    // What makes the most difference counts the most; more points break ties.
    const int score = 8 * matches(method.algorithm, own.algorithm) +
                      4 * (method.protocol == own.protocol) + 2 * (method.type == own.type) +
                      (method.op == own.op && method.in_place == own.in_place);
    if (score < best_score) continue;
    if (score == best_score && model.points().size() <= best->points().size()) continue;
    best = &model;
    best_score = score;
  }
  if (best != nullptr && instead != nullptr && best_score < 14) {
    *instead = fmt::format("predicted as '{}', for '{}' is not measured", to_string(best->method()),
                           to_string(method));
  }
  return best;
}

std::vector<HeldOut> leave_one_scale_out(std::span<const MeasuredTime> rows, bool single_nodes,
                                         std::vector<std::string>& notes) {
  std::vector<HeldOut> held;
  const auto library_of = [](const MeasuredTime& row) {
    return std::pair(row.system, row.library);
  };
  // Rows of one system and library may stand in for each other.
  for (const auto& [library, own] : grouped(rows, library_of)) {
    std::set<Scale> scales;
    for (const MeasuredTime& row : own) scales.insert(row.scale);
    for (const Scale& scale : scales) {
      if (scale.nodes == 1 && !single_nodes && scales.rbegin()->nodes > 1) continue;
      const std::string what = fmt::format("{} of {}{}{}", to_string(scale), library.first,
                                           library.first.empty() ? "" : " ", library.second);
      hold_out(
          own, [&](const MeasuredTime& row) { return row.scale == scale; }, what, held, notes);
    }
  }
  return held;
}

std::vector<HeldOut> leave_one_size_out(std::span<const MeasuredTime> rows) {
  std::vector<HeldOut> held;
  std::vector<std::string> notes;
  for (const auto& [method, own] : grouped(rows, method_of)) {
    std::set<Bytes> sizes;
    for (const MeasuredTime& row : own) sizes.insert(row.bytes);
    for (const Bytes size : sizes) {
      hold_out(
          own, [&](const MeasuredTime& row) { return row.bytes == size; }, "", held, notes);
    }
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

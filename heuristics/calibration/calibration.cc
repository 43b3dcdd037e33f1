#include "heuristics/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr std::size_t least_points = 4;
constexpr double least_span = 16;      // of sizes, largest over smallest
constexpr double contradiction = 1.5;  // median factor between rows of the same point

using TimesByMethod = std::map<MethodKey, std::vector<MeasuredTime>>;

TimesByMethod by_method(std::span<const MeasuredTime> rows) {
  TimesByMethod groups;
  for (const MeasuredTime& row : rows) {
    if (row.note == "wrong result") continue;
    groups[method_of(row)].push_back(row);
  }
  return groups;
}

/// Two rows of one method, scale and size should agree; if most do not, two things are mixed up.
void refuse_contradiction(const MethodKey& method, const std::vector<MeasuredTime>& rows) {
  std::map<std::pair<Scale, Bytes>, std::pair<double, double>> range;
  for (const MeasuredTime& row : rows) {
    const double time = row.time.count();
    const auto [at, fresh] = range.try_emplace({row.scale, row.bytes}, time, time);
    at->second.first = std::min(at->second.first, time);
    at->second.second = std::max(at->second.second, time);
  }
  std::vector<double> factors;
  const std::pair<Scale, Bytes>* worst = nullptr;
  double most = 0;
  for (const auto& [point, both] : range) {
    if (both.first == both.second) continue;
    factors.push_back(both.second / both.first);
    if (factors.back() > most) {
      most = factors.back();
      worst = &point;
    }
  }
  if (factors.size() < 3) return;
  std::sort(factors.begin(), factors.end());
  if (factors[factors.size() / 2] <= contradiction) return;
  const auto& [least, greatest] = range.at(*worst);
  throw InvalidArgument(fmt::format(
      "the tables of '{}' contradict each other at {} points, half of them by more than {:.2g} "
      "times; {} with {}: {} and {}. If they are different systems, give each a name: "
      "FILE,system=NAME",
      to_string(method), factors.size(), contradiction, to_string(worst->second),
      to_string(worst->first), to_string(Seconds{least}), to_string(Seconds{greatest})));
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

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - std::floor(at)) * (sorted[below + 1] - sorted[below]);
}

bool matches(const std::string& asked, const std::string& own) {
  return asked.empty() || asked == own;
}

/// A library's own choice is one of its algorithms, but one algorithm is not another.
bool stands_for(const std::string& own, const std::string& asked) {
  return own == asked || own == "auto" || asked == "auto";
}

/// Predicts `left_out` from `rest`; what cannot be fitted or found is said.
void predict_rows(std::span<const MeasuredTime> left_out, std::vector<MeasuredTime> rest,
                  const std::string& what, std::vector<HeldOut>& held,
                  std::vector<std::string>& notes) {
  try {
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

/// Rows of one system and library, which may stand in for each other.
std::map<std::pair<std::string, std::string>, std::vector<MeasuredTime>> by_library(
    std::span<const MeasuredTime> rows) {
  std::map<std::pair<std::string, std::string>, std::vector<MeasuredTime>> groups;
  for (const MeasuredTime& row : rows) {
    if (row.note != "wrong result") groups[{row.system, row.library}].push_back(row);
  }
  return groups;
}

}  // namespace

ErrorSummary summarize_errors(std::vector<double> errors) {
  ErrorSummary summary;
  summary.within = -1;
  if (errors.empty()) return summary;
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  summary.points = static_cast<int>(errors.size());
  summary.median = quantile(errors, 0.5);
  summary.p90 = quantile(errors, 0.9);
  summary.worst = errors.back();
  return summary;
}

Calibration::Calibration(std::vector<MeasuredTime> rows) {
  std::string first_lack;
  for (auto& [method, own] : by_method(rows)) {
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
  for (const auto& [library, own] : by_library(rows)) {
    std::set<Scale> scales;
    for (const MeasuredTime& row : own) scales.insert(row.scale);
    for (const Scale& scale : scales) {
      if (scale.nodes == 1 && !single_nodes && scales.rbegin()->nodes > 1) continue;
      std::vector<MeasuredTime> rest;
      std::vector<MeasuredTime> left_out;
      for (const MeasuredTime& row : own) (row.scale == scale ? left_out : rest).push_back(row);
      const std::string what = fmt::format("{} of {}{}{}", to_string(scale), library.first,
                                           library.first.empty() ? "" : " ", library.second);
      if (rest.empty()) {
        notes.push_back(what + " is not held out: no other scale is measured");
        continue;
      }
      predict_rows(left_out, std::move(rest), what, held, notes);
    }
  }
  return held;
}

std::vector<HeldOut> leave_one_size_out(std::span<const MeasuredTime> rows) {
  std::vector<HeldOut> held;
  std::vector<std::string> notes;
  for (const auto& [method, own] : by_method(rows)) {
    std::set<Bytes> sizes;
    for (const MeasuredTime& row : own) sizes.insert(row.bytes);
    for (const Bytes size : sizes) {
      std::vector<MeasuredTime> rest;
      std::vector<MeasuredTime> left_out;
      for (const MeasuredTime& row : own) (row.bytes == size ? left_out : rest).push_back(row);
      predict_rows(left_out, std::move(rest), to_string(size), held, notes);
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

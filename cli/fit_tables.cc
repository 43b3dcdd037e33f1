#include "cli/fit_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/measured_files.h"
#include "core/error.h"

namespace collbench {
namespace {

/// Tables state four digits or more.
constexpr double same_time = 1e-3;

using PointTimes = std::map<std::tuple<MethodKey, Scale, Bytes>, std::vector<Seconds>>;

/// All times of each point, then their median.
PointTimes times_by_point(std::span<const MeasuredTime> rows) {
  PointTimes times;
  for (const MeasuredTime& row : rows) {
    times[{method_of(row), row.scale, row.bytes}].push_back(row.time);
  }
  for (const MeasuredTime& row : medians_of(rows)) {
    times[{method_of(row), row.scale, row.bytes}].push_back(row.time);
  }
  return times;
}

std::set<std::string> systems_of(std::span<const MeasuredTime> rows) {
  std::set<std::string> systems;
  for (const MeasuredTime& row : rows) systems.insert(row.system);
  return systems;
}

/// The rows of `judged` that are in `fitted`, as shared_points() counts them.
std::vector<MeasuredTime> rows_in_both(std::span<const MeasuredTime> fitted,
                                       std::span<const MeasuredTime> judged) {
  PointTimes known = times_by_point(fitted);
  const std::set<std::string> systems = systems_of(fitted);
  // Rows of a system that is not known are predicted as if of any.
  for (const auto& [point, times] : PointTimes(known)) {
    auto [method, scale, bytes] = point;
    method.system.clear();
    auto& of_any = known[{method, scale, bytes}];
    of_any.insert(of_any.end(), times.begin(), times.end());
  }
  struct Curve {
    std::set<Bytes> sizes;
    std::set<Bytes> same;
    std::vector<MeasuredTime> rows;
  };
  std::map<std::pair<MethodKey, Scale>, Curve> curves;
  const PointTimes own = times_by_point(judged);
  for (const MeasuredTime& row : judged) {
    MethodKey method = method_of(row);
    const Seconds median = own.at({method, row.scale, row.bytes}).back();
    if (!systems.contains(row.system)) method.system.clear();
    const auto found = known.find({method, row.scale, row.bytes});
    if (found == known.end()) continue;
    Curve& curve = curves[{method, row.scale}];
    curve.sizes.insert(row.bytes);
    const bool is_same = std::ranges::any_of(found->second, [&](Seconds time) {
      return std::abs(time / row.time - 1) < same_time || std::abs(time / median - 1) < same_time;
    });
    if (!is_same) continue;
    curve.same.insert(row.bytes);
    curve.rows.push_back(row);
  }
  std::vector<MeasuredTime> both;
  for (const auto& [key, curve] : curves) {
    if (2 * curve.same.size() < curve.sizes.size()) continue;
    both.insert(both.end(), curve.rows.begin(), curve.rows.end());
  }
  return both;
}

}  // namespace

int shared_points(std::span<const MeasuredTime> fitted, std::span<const MeasuredTime> judged) {
  return static_cast<int>(rows_in_both(fitted, judged).size());
}

std::vector<MeasuredTime> rows_to_fit(const std::string& tables, CollectiveKind kind,
                                      std::span<const MeasuredTime> judged) {
  const std::vector<std::string> names = table_names(tables);
  require(!names.empty(), "--fit names no table");
  std::vector<MeasuredTime> rows = all_rows(read_measured_files(names, kind));
  const std::vector<MeasuredTime> both = rows_in_both(rows, judged);
  if (!both.empty()) {
    const MeasuredTime& row = both.front();
    throw InvalidArgument(fmt::format(
        "--fit shares {} of {} points with the tables to judge, among them '{}', {} with {}, {}: "
        "what is fitted must not judge. Leave those rows out of one of them",
        both.size(), judged.size(), to_string(method_of(row)), to_string(row.bytes),
        to_string(row.scale), to_string(row.time)));
  }
  const std::set<std::string> own = systems_of(judged);
  const std::set<std::string> known = systems_of(rows);
  const bool common = std::any_of(
      own.begin(), own.end(), [&](const std::string& system) { return known.count(system) > 0; });
  require(
      common,
      fmt::format("--fit knows the system{} '{}', the tables to judge are of '{}'; name "
                  "them alike: FILE,system=NAME",
                  known.size() == 1 ? "" : "s", fmt::join(known, "', '"), fmt::join(own, "', '")));
  return rows;
}

std::string sample_line(std::ptrdiff_t fitted, int shared, std::size_t judged) {
  if (shared == 0) {
    return fmt::format("# held out: fitted to {} points, judged on {} others", fitted, judged);
  }
  return fmt::format(
      "# in sample: {} of the {} points judged are among the {} that were fitted, so the errors "
      "say nothing about points not measured",
      shared, judged, fitted);
}

}  // namespace collbench

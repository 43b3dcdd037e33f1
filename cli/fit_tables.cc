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

/// Files of calibrations state six digits.
constexpr double same_time = 1e-5;

using PointTimes = std::map<std::tuple<MethodKey, Scale, Bytes>, std::vector<Seconds>>;

PointTimes times_by_point(std::span<const MeasuredTime> rows) {
  PointTimes times;
  for (const MeasuredTime& row : rows) {
    times[{method_of(row), row.scale, row.bytes}].push_back(row.time);
  }
  return times;
}

bool is_among(const PointTimes& times, const MeasuredTime& row) {
  const auto found = times.find({method_of(row), row.scale, row.bytes});
  return found != times.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](Seconds time) { return std::abs(time / row.time - 1) < same_time; });
}

std::set<std::string> systems_of(std::span<const MeasuredTime> rows) {
  std::set<std::string> systems;
  for (const MeasuredTime& row : rows) systems.insert(row.system);
  return systems;
}

}  // namespace

int shared_points(std::span<const MeasuredTime> fitted, std::span<const MeasuredTime> judged) {
  const PointTimes times = times_by_point(fitted);
  int shared = 0;
  for (const MeasuredTime& row : judged) shared += is_among(times, row) ? 1 : 0;
  return shared;
}

std::vector<MeasuredTime> rows_to_fit(const std::string& tables,
                                      std::span<const MeasuredTime> judged) {
  const std::vector<std::string> names = table_names(tables);
  require(!names.empty(), "--fit names no table");
  std::vector<MeasuredTime> rows = all_rows(read_measured_files(names));
  const PointTimes times = times_by_point(rows);
  for (const MeasuredTime& row : judged) {
    if (!is_among(times, row)) continue;
    throw InvalidArgument(fmt::format(
        "--fit shares {} of {} points with the tables to judge, among them '{}', {} with {}, {}: "
        "what is fitted must not judge. Leave those rows out of one of them",
        shared_points(rows, judged), judged.size(), to_string(method_of(row)), to_string(row.bytes),
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

std::string sample_line(int fitted, int shared, std::size_t judged) {
  if (shared == 0) {
    return fmt::format("# held out: fitted to {} points, judged on {} others", fitted, judged);
  }
  return fmt::format(
      "# in sample: {} of the {} points judged are among the {} that were fitted, so the errors "
      "say "
      "nothing about points not measured",
      shared, judged, fitted);
}

}  // namespace collbench

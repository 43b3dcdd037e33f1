// The prediction for a case by the fit in a file of `calibrate`, as `validate` and `select` use it.
//
// The plain machine in such a file is a star of links. It knows no axes of a torus, no taper, no
// cores that ranks share: where the fit knows what an algorithm plays, it is the better answer.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/simulated/team.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

/// As many ranks as the case has, where the structure was measured.
Scale scale_on(const StructuralModel& structure, const Case& point, const Machine& machine) {
  if (structure.cores() > 0) return {point.workers, 1, {}, structure.cores()};
  if (structure.interconnect() == Interconnect::gpu_nodes) {
    return {point.workers, nodes_of(machine.topology.layout(), point.workers)};
  }
  return {point.workers, point.workers};
}

/// What the case names, or the name under which it was measured, at the case's scale if possible.
std::string measured_name(const StructuralModel& structure, const Case& point) {
  NameCounts counts;
  for (const MeasuredTime& row : structure.points()) {
    auto& [there, all] = counts[row.algorithm];
    there += row.scale.ranks == point.workers ? 1 : 0;
    ++all;
  }
  const auto listed = listed_names(counts, std::vector{point.algorithm});
  return listed.empty() ? point.algorithm : listed.begin()->first;
}

/// The method that the case names, run as it was measured, or else as the one with the most points.
MethodKey method_on(const StructuralModel& structure, const Case& point) {
  const std::string name = measured_name(structure, point);
  std::map<MethodKey, int> points;
  for (const MeasuredTime& row : structure.points()) ++points[method_of(row)];
  const auto weight = [&](const auto& entry) {
    return std::pair(entry.first.algorithm == name, entry.second);
  };
  MethodKey method = std::ranges::max_element(points, {}, weight)->first;
  method.algorithm = name;
  method.protocol.clear();
  method.type = point.type;
  method.op = point.op;
  return method;
}

/// Why the fit cannot answer; empty if it can.
std::string no_answer_of_fit(const Case& point) {
  if (point.collective != CollectiveKind::all_reduce) return "it knows all-reduces only";
  if (point.simulated.protocol != Simulated().protocol) return "it knows no protocols";
  return need_of_messages(point);
}

/// `able`: how many structures of the file know the case.
Measurement by_structure(const StructuralModel& structure, int able, const Case& point,
                         const Machine& machine) {
  const MethodKey method = method_on(structure, point);
  const Estimate estimate =
      structure.estimate(method, scale_on(structure, point, machine), point.bytes);
  const std::string whose =
      (structure.system().empty() ? "" : structure.system() + " ") + method.library;
  return modelled(
      estimate.time, fmt::format("{} (by the fit)", point.algorithm),
      fmt::format(
          "the constants of the file's {} network, fitted to {}{}{}{}; 80 % within {} to "
          "{}{}{}",
          network_model(structure.interconnect()).name, structure.basis(),
          whose.empty() ? "" : ", as of " + whose,
          method.algorithm == point.algorithm ? "" : ", measured as " + method.algorithm,
          able > 1 ? fmt::format(", which has the most points of {} that know it", able) : "",
          to_string(estimate.low), to_string(estimate.high),
          estimate.extrapolates.empty() ? "" : "; extrapolates: ", estimate.extrapolates));
}

/// NCCL's own choice: of its all-reduces those of the case's type and operator, then those of its
/// scale, then those with the most points, as `select` takes them.
std::optional<Measurement> by_trend_of_nccl(const Calibration& calibration, const Case& point,
                                            const Machine& machine) {
  const Scale scale{point.workers, nodes_of(machine.topology.layout(), point.workers)};
  const MeasuredMethod* fullest = nullptr;
  const auto weight = [&](const MeasuredMethod& each) {
    const auto there = std::ranges::count_if(each.points, [&](const MeasuredTime& row) {
      return row.scale.ranks == scale.ranks && row.scale.nodes == scale.nodes;
    });
    return std::tuple(each.method.type == point.type && each.method.op == point.op, there,
                      each.points.size());
  };
  for (const MeasuredMethod& each : calibration.measured()) {
    const MethodKey& method = each.method;
    const bool is_own_choice = is_nccl(method.library) && is_library_default(method.algorithm);
    if (!is_own_choice || method.collective != point.collective) continue;
    if (fullest == nullptr || weight(each) > weight(*fullest)) fullest = &each;
  }
  if (fullest == nullptr) return {};
  const auto estimate = calibration.estimate(fullest->method, scale, point.bytes);
  if (!estimate) return {};
  return modelled(
      estimate->time, "nccl (by the fit)",
      fmt::format(
          "the trend of '{} {}', fitted to {} points; 80 % within {} to {}{}{}",
          fullest->method.library, fullest->method.algorithm, fullest->points.size(),
          to_string(estimate->low), to_string(estimate->high),
          estimate->extrapolates.empty() ? "" : "; extrapolates: ", estimate->extrapolates));
}

}  // namespace

std::optional<Measurement> measure_fitted_case(const Case& point, const Calibration& calibration,
                                               const Machine& machine, std::string& why_not) {
  why_not = no_answer_of_fit(point);
  if (!why_not.empty()) return {};
  const StructuralModel* fullest = nullptr;
  int able = 0;
  for (const StructuralModel& structure : calibration.structures()) {
    if (!structure.can_predict(method_on(structure, point), scale_on(structure, point, machine))) {
      continue;
    }
    ++able;
    if (fullest == nullptr || structure.points().size() > fullest->points().size()) {
      fullest = &structure;
    }
  }
  if (fullest != nullptr) return by_structure(*fullest, able, point, machine);
  if (point.algorithm == "nccl") {
    if (auto own = by_trend_of_nccl(calibration, point, machine)) return own;
  }
  why_not = fmt::format("it does not know what '{}' plays there", point.algorithm);
  return {};
}

}  // namespace collbench

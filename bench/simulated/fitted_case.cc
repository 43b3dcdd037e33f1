// The prediction for a case by the fit in a file of `calibrate`, as `validate` and `select` use it.
//
// The plain machine in such a file is a star of links. It knows no axes of a torus, no taper, no
// cores that ranks share: where the fit knows what an algorithm plays, it is the better answer.
#include <fmt/format.h>

#include "bench/simulated/team.h"
#include "heuristics/calibration/fit.h"

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

/// The method that the case names, run as the first of those that were measured.
MethodKey method_on(const StructuralModel& structure, const Case& point) {
  MethodKey method = structure.methods().front();
  method.algorithm = point.algorithm;
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

}  // namespace

std::optional<Measurement> measure_fitted_case(const Case& point, const Calibration& calibration,
                                               const Machine& machine, std::string& why_not) {
  why_not = no_answer_of_fit(point);
  if (!why_not.empty()) return {};
  for (const StructuralModel& structure : calibration.structures()) {
    const Scale scale = scale_on(structure, point, machine);
    const MethodKey method = method_on(structure, point);
    if (!structure.can_predict(method, scale)) continue;
    const Estimate estimate = structure.estimate(method, scale, point.bytes);
    return modelled(
        estimate.time, fmt::format("{} (by the fit)", point.algorithm),
        fmt::format(
            "the constants of the file's {} network, fitted to {}; 80 % within {} to {}{}{}",
            network_model(structure.interconnect()).name, structure.basis(),
            to_string(estimate.low), to_string(estimate.high),
            estimate.extrapolates.empty() ? "" : "; extrapolates: ", estimate.extrapolates));
  }
  why_not = fmt::format("it does not know what '{}' plays there", point.algorithm);
  return {};
}

}  // namespace collbench

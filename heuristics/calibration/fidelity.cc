#include "heuristics/calibration/fidelity.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/nccl/nccl_model.h"
#include "heuristics/predict.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

Estimate exactly(Seconds time) { return {time, time, time, ""}; }

/// As many nodes of the machine as the row has; the machine itself for one.
Machine machine_for(const std::string& name, const MeasuredTime& row) {
  const bool composed = name.find(':') != name.npos || name.find(',') != name.npos;
  if (row.scale.nodes > 1 && !composed) {
    return machine(fmt::format("cluster:{}x{}", row.scale.nodes, name), row.scale.ranks);
  }
  return machine(name, row.scale.ranks);
}

Seconds by_nccl(const Machine& network, const MeasuredTime& row) {
  const NcclInputs inputs = nccl_inputs(network, row.scale.ranks, std::max(row.scale.nodes, 1));
  std::optional<Seconds> least;
  for (const NcclTime& time : nccl_times(inputs, row.bytes)) {
    const bool asked = row.algorithm == "auto" || row.algorithm == to_string(time.algorithm);
    if (asked && (!least || time.time < *least)) least = time.time;
  }
  require(least.has_value(), fmt::format("NCCL has no '{}' there", row.algorithm));
  return *least;
}

Seconds by_schedule(const Machine& network, const MeasuredTime& row) {
  const AlgorithmSpec spec =
      fit_to(parse_algorithm_spec(row.algorithm), network.topology, row.scale.ranks);
  const Schedule schedule = make_schedule(spec, row.scale.ranks, row.bytes);
  const std::vector<Host> hosts = place("row-major", row.scale.ranks, network.topology);
  VectorSpec work;
  work.type = row.type;
  work.count = std::max<std::int64_t>(1, row.bytes.count / size_of(row.type));
  const std::vector<Prediction> ladder = predict_ladder(schedule, network, hosts, work);
  return std::min_element(ladder.begin(), ladder.end(),
                          [](const auto& p, const auto& q) { return p.time() < q.time(); })
      ->time();
}

}  // namespace

Predictor::Predictor(const std::string& machine)
    : machine_(machine), calibration_(calibration_of(machine)) {}

Predictor::Predictor(Calibration calibration) : calibration_(std::move(calibration)) {}

Estimate Predictor::predict_row(const MeasuredTime& row, std::string& note) const {
  if (calibration_) {
    std::optional<Estimate> found =
        calibration_->estimate(method_of(row), row.scale, row.bytes, &note);
    if (!found) {
      MethodKey any = method_of(row);  // the description may give the system another name
      any.system.clear();
      found = calibration_->estimate(any, row.scale, row.bytes, &note);
    }
    require(found.has_value(), fmt::format("'{}' is not in the calibration, nor anything of its "
                                           "library that stands for it",
                                           to_string(method_of(row))));
    return *found;
  }
  const Machine network = machine_for(machine_, row);
  const bool nccl = row.library == "nccl" || row.library == "rccl";
  return exactly(nccl ? by_nccl(network, row) : by_schedule(network, row));
}

std::vector<HeldOut> Predictor::predict_all(std::span<const MeasuredTime> rows,
                                            std::vector<std::string>& notes) const {
  std::vector<HeldOut> predicted;
  std::set<std::string> told(notes.begin(), notes.end());
  const auto tell = [&](const std::string& note) {
    if (!note.empty() && told.insert(note).second) notes.push_back(note);
  };
  for (const MeasuredTime& row : rows) {
    if (row.is_wrong()) continue;
    std::string note;
    try {
      predicted.push_back({row, predict_row(row, note)});
      if (!predicted.back().predicted.extrapolates.empty()) {
        tell("extrapolates: " + predicted.back().predicted.extrapolates);
      }
    } catch (const InvalidArgument& e) {
      note = fmt::format("not predicted: {}", e.what());
    }
    tell(note);
  }
  return predicted;
}

}  // namespace collbench

#include "heuristics/calibration/fidelity.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/nccl/library_times.h"
#include "heuristics/predict.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

Estimate exactly(Seconds time) { return {time, time, time, ""}; }

/// Where a row was measured, as far as it says.
struct RowPlace {
  Machine network;
  int nodes = 1;
};

std::string cluster_of(int nodes, const std::string& node) {
  return fmt::format("cluster:{}x{}", nodes, node);
}

/// How many copies of a machine seat the ranks.
int nodes_that_seat(int ranks, const Machine& one) {
  const int seats = one.topology.hosts();
  return seats >= ranks ? 1 : (ranks + seats - 1) / seats;
}

/// The machine with as many nodes as the row has. A cluster has its own, and NVLink may join hosts
/// that a table counts as nodes.
RowPlace place_of(const std::string& name, const MeasuredTime& row, std::string& note) {
  const int ranks = row.scale.ranks;
  const bool composed = name.find(':') != name.npos || name.find(',') != name.npos;
  const Machine one = machine(name, composed ? ranks : std::min(ranks, 2));
  if (composed || one.topology.layout().kind == Layout::Kind::hierarchy) {
    RowPlace place{machine(name, ranks), row.scale.nodes};
    if (place.nodes == 0) place.nodes = nodes_of(place.network.topology.layout(), ranks);
    return place;
  }
  int nodes = row.scale.nodes;
  if (nodes == 0) {
    nodes = nodes_that_seat(ranks, one);
    note = fmt::format("number of nodes not given; {} taken for {} of {}", to_string(row.scale),
                       nodes, name);
  } else if (one.costs.gpus && one.costs.gpus->per_host > 0) {
    nodes = nodes_that_seat(ranks, one);
  }
  return {machine(nodes > 1 ? cluster_of(nodes, name) : name, ranks), nodes};
}

/// Hosts of the ranks. Tables may count as nodes what NVLink joins to one of the machine, so that
/// nodes have seats to spare only where there are as many as in the machine.
std::vector<Host> seats_in(const RowPlace& place, int ranks) {
  const Topology& topology = place.network.topology;
  const Layout& layout = topology.layout();
  const bool spare = layout.kind == Layout::Kind::hierarchy && place.nodes == layout.dims.back();
  return spare ? seats_of_ranks(topology, ranks, place.nodes)
               : collbench::place("row-major", ranks, topology);
}

NcclInputs inputs_of(const RowPlace& place, const MeasuredTime& row) {
  require(row.collective == CollectiveKind::all_reduce,
          fmt::format("what NCCL takes for {} on a machine is not modelled, only for all-reduce; "
                      "a fit to tables of it predicts it: --fit FILE, --held-out, or --machine "
                      "with a file of calibrate",
                      to_string(row.collective)));
  return nccl_inputs(place.network, row.scale.ranks, place.nodes);
}

HeldOut by_library(const RowPlace& place, const MeasuredTime& row) {
  const NcclInputs inputs = inputs_of(place, row);
  const LibraryPlay play = library_choice(inputs, library_question(row));
  return {row, {play.time, play.low, play.high, ""}, to_string(play)};
}

HeldOut by_schedule(const RowPlace& place, const MeasuredTime& row) {
  const Machine& network = place.network;
  const AlgorithmSpec spec =
      fit_to(parse_algorithm_spec(row.algorithm), network.topology, row.scale.ranks);
  const Schedule schedule =
      make_schedule(spec, row.scale.ranks, row.bytes, {row.collective, row.root});
  const std::vector<Host> hosts = seats_in(place, row.scale.ranks);
  VectorSpec work;
  work.type = row.type;
  work.count = std::max<std::int64_t>(1, row.bytes.count / size_of(row.type));
  const std::vector<Prediction> ladder = predict_ladder(schedule, network, hosts, work);
  const std::size_t rung = fastest_rung(ladder);
  const auto& protocols = network.costs.protocols;
  std::string assumed = to_string(spec);
  if (!protocols.empty()) {
    assumed += ", " + protocols[rung].name;
  }
  return {row, exactly(ladder[rung].time()), assumed};
}

}  // namespace

LibraryQuestion library_question(const MeasuredTime& row) {
  LibraryQuestion question{.bytes = row.bytes,
                           .what = {row.type, row.op},
                           .in_place = row.in_place,
                           .gpus_per_process = row.gpus_per_process};
  const auto no_such = [&](const std::string& name) {
    return fmt::format(
        "NCCL has no '{}'; it has ring, tree, nvls, nvls_tree, collnet_direct and "
        "collnet_chain with LL, LL128 and Simple",
        name);
  };
  if (!is_library_default(row.algorithm)) {
    question.algorithm = nccl_file_algorithm(row.algorithm);
    if (!question.algorithm) question.algorithm = nccl_algorithm(row.algorithm);
    require(question.algorithm.has_value(), no_such(row.algorithm));
  }
  if (!row.protocol.empty()) {
    question.protocol = nccl_file_protocol(row.protocol);
    if (!question.protocol) question.protocol = nccl_protocol(row.protocol);
    require(question.protocol.has_value(), no_such(row.protocol));
  }
  return question;
}

Predictor::Predictor(const std::string& machine)
    : machine_(machine), calibration_(calibration_of(machine)) {}

Predictor::Predictor(Calibration calibration) : calibration_(std::move(calibration)) {}

HeldOut Predictor::predict_by_fit(const MeasuredTime& row, std::string& note) const {
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
  return {row, *found};
}

HeldOut Predictor::predict_row(const MeasuredTime& row, std::string& note) const {
  if (calibration_) return predict_by_fit(row, note);
  const RowPlace place = place_of(machine_, row, note);
  return is_nccl(row.library) ? by_library(place, row) : by_schedule(place, row);
}

std::optional<NcclInputs> Predictor::library_inputs(const MeasuredTime& row,
                                                    std::string& note) const {
  if (calibration_ || !is_nccl(row.library)) return {};
  const RowPlace place = place_of(machine_, row, note);
  return inputs_of(place, row);
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
      predicted.push_back(predict_row(row, note));
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

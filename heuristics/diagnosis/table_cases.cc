#include "heuristics/diagnosis/table_cases.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/calibration/fidelity.h"

namespace collbench {
namespace {

/// Rows of one table by method, whatever the place, and scale.
std::map<std::pair<MethodKey, Scale>, std::vector<MeasuredTime>> rows_by_case(
    const MeasuredTable& table) {
  std::map<std::pair<MethodKey, Scale>, std::vector<MeasuredTime>> cases;
  for (const MeasuredTime& row : table.times) {
    MethodKey key = method_of(row);
    key.in_place = false;
    if (!row.is_wrong()) cases[{key, row.scale}].push_back(row);
  }
  return cases;
}

std::string machine_for(const MeasuredTable& table, const Scale& scale,
                        std::vector<std::string>& notes) {
  const int per_node = scale.nodes > 0 ? scale.ranks_per_node() : scale.ranks;
  std::string machine = machine_of_gpus(table.hardware, per_node);
  require(
      !machine.empty(),
      fmt::format(
          "{}: {}; name it with --topo, as 'cluster:2xdgx-h100' (collbench topo list)", table.name,
          table.hardware.empty()
              ? "the table does not say its hardware"
              : fmt::format("of '{}', {} a node, no machine is known", table.hardware, per_node)));
  notes.push_back(fmt::format("{}: '{}' is taken for {}{}; --topo says it exactly", table.name,
                              table.hardware, machine,
                              scale.nodes > 1 ? " with its own adapters" : ""));
  return machine;
}

/// Times and plays of a machine of which nothing but its times is known.
void add_curve(const Predictor& predictor, DiagnosisCase& found, std::vector<std::string>& notes) {
  const std::string library = found.rows.front().library;
  std::map<std::int64_t, HeldOut> of_size;
  for (HeldOut& point : predictor.predict_all(found.rows, notes)) {
    of_size.insert_or_assign(point.measured.bytes.count, std::move(point));
  }
  std::erase_if(found.rows, [&](const MeasuredTime& row) {
    return of_size.find(row.bytes.count) == of_size.end();
  });
  require(!found.rows.empty(),
          fmt::format("{}: nothing says what {} should take on {}; --topo takes a machine that was "
                      "fitted to tables of it (collbench calibrate)",
                      found.table, library, found.machine));
  const std::vector<Bytes> sizes = sizes_of(found.rows);
  std::vector<Seconds> expected;
  std::vector<std::string> played;
  for (const Bytes size : sizes) {
    const HeldOut& point = of_size.at(size.count);
    expected.push_back(point.predicted.time);
    played.push_back(point.assumed);
  }
  found.suspicions = curve_suspicions(sizes, expected);
  found.suspicions.front().played = std::move(played);
}

DiagnosisCase case_of(const MeasuredTable& table, const std::string& machine,
                      std::vector<MeasuredTime> rows, std::vector<std::string>& notes) {
  DiagnosisCase found;
  found.table = table.name;
  found.hardware = table.hardware;
  found.rows = std::move(rows);
  found.machine = machine.empty() ? machine_for(table, found.rows.front().scale, notes) : machine;
  const Predictor predictor(found.machine);
  std::string note;
  const std::optional<NcclInputs> inputs = predictor.library_inputs(found.rows.front(), note);
  if (!note.empty()) notes.push_back(note);
  if (inputs) {
    found.suspicions =
        library_suspicions(*inputs, library_question(found.rows.front()), sizes_of(found.rows));
  } else {
    add_curve(predictor, found, notes);
  }
  return found;
}

}  // namespace

std::vector<DiagnosisCase> diagnosis_cases(const MeasuredTable& table, const std::string& machine,
                                           std::vector<std::string>& notes) {
  std::vector<DiagnosisCase> cases;
  std::string reason = fmt::format("{}: no right row to diagnose", table.name);
  for (auto& [key, rows] : rows_by_case(table)) {
    try {
      cases.push_back(case_of(table, machine, std::move(rows), notes));
    } catch (const InvalidArgument& error) {
      reason = error.what();
      notes.push_back(
          fmt::format("{}, {} left out: {}", to_string(key.first), to_string(key.second), reason));
    }
  }
  require(!cases.empty(), reason);
  return cases;
}

std::vector<Diagnosis> diagnoses_where_known(const MeasuredTable& table,
                                             const std::string& machine) {
  MeasuredTable of_library = table;
  std::erase_if(of_library.times, [](const MeasuredTime& row) { return !is_nccl(row); });
  std::vector<Diagnosis> diagnoses;
  std::vector<std::string> notes;
  try {
    for (const DiagnosisCase& each : diagnosis_cases(of_library, machine, notes)) {
      diagnoses.push_back(diagnose(each));
    }
  } catch (const InvalidArgument&) {
    return {};
  }
  return diagnoses;
}

}  // namespace collbench

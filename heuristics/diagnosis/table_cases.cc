#include "heuristics/diagnosis/table_cases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "heuristics/calibration/fidelity.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/diagnosis/suspicion_list.h"
#include "heuristics/policies/policy.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

/// One case: a method, whatever the place, at a scale, in one run where the table tells runs apart.
using CaseKey = std::tuple<MethodKey, Scale, std::string>;
using RowsByCase = std::map<CaseKey, std::vector<MeasuredTime>>;

/// Of less than one element nothing is known. Wrong results stay.
bool is_part(const MeasuredTime& row) {
  return !row.is_wrong() && row.bytes.count < size_of(row.type);
}

RowsByCase rows_by_case(const MeasuredTable& table, bool by_run) {
  RowsByCase cases;
  for (const MeasuredTime& row : table.times) {
    if (is_part(row)) continue;
    MethodKey key = method_of(row);
    key.in_place = false;
    MeasuredTime& taken = cases[{key, row.scale, by_run ? row.batch : ""}].emplace_back(row);
    // The least and most of OSU's and IMB's means are of ranks, which leave apart.
    if (row.mean && row.library == "mpi") taken.low = taken.high = row.time;
  }
  return cases;
}

double doublings_of(Bytes size) { return std::log2(static_cast<double>(size.count)); }

/// By runs if each has sizes enough to be judged by: the job of a row is a run, too.
RowsByCase rows_by_case(const MeasuredTable& table) {
  RowsByCase by_run = rows_by_case(table, true);
  const bool tells = std::ranges::all_of(
      by_run, [](const auto& each) { return sizes_of(each.second).size() >= 3; });
  return tells ? by_run : rows_by_case(table, false);
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
  notes.push_back(fmt::format("{}: '{}' is assumed to be {}{}; --topo says it exactly", table.name,
                              table.hardware, machine,
                              scale.nodes > 1 ? " with its own adapters" : ""));
  return machine;
}

/// Sizes close to each other say the same, and judging takes the cube of their number: of more than
/// `most` those are kept that are even in their logarithms. Rows with wrong results stay.
void thin_sizes(const std::string& table, std::vector<MeasuredTime>& rows,
                std::vector<std::string>& notes) {
  constexpr std::size_t most = 64;
  const std::vector<Bytes> sizes = sizes_of(rows);
  if (sizes.size() <= most) return;
  const double step = (doublings_of(sizes.back()) - doublings_of(sizes.front())) / (most - 1);
  std::set<Bytes> kept{sizes.front(), sizes.back()};
  double last = doublings_of(sizes.front());
  for (const Bytes size : sizes) {
    if (doublings_of(size) < last + step) continue;
    kept.insert(size);
    last = doublings_of(size);
  }
  std::erase_if(
      rows, [&](const MeasuredTime& row) { return !row.is_wrong() && !kept.contains(row.bytes); });
  notes.push_back(
      fmt::format("{}: judged by {} of its {} sizes", table, kept.size(), sizes.size()));
}

/// `expect(size)` is the time there, and what is played.
template <class Expect>
void suspect_curve(DiagnosisCase& found, const Expect& expect) {
  const std::vector<Bytes> sizes = sizes_of(found.rows);
  std::vector<Seconds> expected;
  std::vector<std::string> played;
  for (const Bytes size : sizes) {
    auto [time, name] = expect(size);
    expected.push_back(time);
    played.push_back(std::move(name));
  }
  found.suspicions = curve_suspicions(sizes, expected);
  found.suspicions.front().played = std::move(played);
}

/// Times and plays of a machine of which nothing but its times is known.
void add_curve(const Predictor& predictor, DiagnosisCase& found, std::vector<std::string>& notes) {
  const std::string library = found.rows.front().library;
  std::map<std::int64_t, HeldOut> of_size;
  for (HeldOut& point : predictor.predict_all(found.rows, notes)) {
    of_size.insert_or_assign(point.measured.bytes.count, std::move(point));
  }
  std::erase_if(found.rows,
                [&](const MeasuredTime& row) { return !of_size.contains(row.bytes.count); });
  require(!found.rows.empty(),
          fmt::format("{}: what {} should take on {} is unknown; --topo takes a machine that was "
                      "fitted to tables of it (collbench calibrate)",
                      found.table, library, found.machine));
  suspect_curve(found, [&](Bytes size) {
    const HeldOut& point = of_size.at(size.count);
    return std::pair(point.predicted.time, point.assumed);
  });
}

/// What the best of the algorithms that MPI libraries have takes at every size, where the library's
/// own choice and constants are not known on that machine: what it could reach, not what it should.
void add_best_schedules(DiagnosisCase& found, std::vector<std::string>& notes) {
  const Scale& scale = found.rows.front().scale;
  const Machine network = machine(found.machine, scale.ranks);
  Question question;
  question.type = found.rows.front().type;
  question.workers = scale.ranks;
  question.nodes = scale.nodes > 0 ? scale.nodes : nodes_of(network.topology.layout(), scale.ranks);
  question.machine = &network;
  question.available = {"ring", "recursive-doubling", "halving-doubling", "tree"};
  suspect_curve(found, [&](Bytes size) {
    question.bytes = size;
    const Answer answer = ask(find_policy("model"), question);
    require(!answer.candidates.empty() && answer.candidates.front().time.has_value(),
            fmt::format("{}: nothing is known to play on {}", found.table, found.machine));
    return std::pair(*answer.candidates.front().time, answer.candidates.front().algorithm);
  });
  found.error = error_of_unknown_library();
  found.most_busbw = most_bus_bandwidth(network, scale.ranks);
  notes.push_back(fmt::format(
      "{}: how {} chooses on {} is not known: expected is the best schedule on that network, "
      "within a factor; small faults cannot be told. A machine that calibrate fitted to a healthy "
      "table tells more",
      found.table, found.rows.front().library, found.machine));
}

/// Where the table's own devices are of another generation than those of the machine that was
/// named.
void note_other_gpus(const MeasuredTable& table, const DiagnosisCase& given,
                     const NcclInputs& named, std::vector<std::string>& notes) {
  const Scale& scale = given.rows.front().scale;
  const int per_node = scale.nodes > 0 ? scale.ranks_per_node() : scale.ranks;
  const std::string usual = machine_of_gpus(table.hardware, per_node);
  if (usual.empty()) return;
  std::string ignored;
  const auto inputs = Predictor(usual).library_inputs(given.rows.front(), ignored);
  if (!inputs || inputs->compute_capability == named.compute_capability) return;
  notes.push_back(
      fmt::format("{}: its devices are '{}', which are not those of {}: is --topo right?",
                  table.name, table.hardware, given.machine));
}

/// What may be wrong on the machine of the case. `named`: it was given, and the table may be of
/// another one.
void suspect(const MeasuredTable* named, DiagnosisCase& found, std::vector<std::string>& notes) {
  const Predictor predictor(found.machine);
  std::string note;
  const std::optional<NcclInputs> inputs = predictor.library_inputs(found.rows.front(), note);
  if (!note.empty()) notes.push_back(note);
  if (inputs) {
    if (named != nullptr) note_other_gpus(*named, found, *inputs, notes);
    const NcclHardware& has = inputs->hardware;
    found.is_unlike_fitted = !has.gpu.fitted || (inputs->nodes > 1 && !has.network.fitted);
    found.suspicions =
        library_suspicions(*inputs, library_question(found.rows.front()), sizes_of(found.rows));
  } else if (predictor.calibration() == nullptr && is_library_default(found.rows[0].algorithm)) {
    add_best_schedules(found, notes);
  } else {
    add_curve(predictor, found, notes);
  }
}

/// Why nodes with so few of the GPUs of `name`, which a table's devices are those of, may be
/// others; empty if they are none.
std::string other_nodes(const MeasuredTable& table, const std::string& name, int per_node) {
  const Machine usual = machine(name);
  const int domain = usual.costs.gpus ? usual.costs.gpus->per_host : 0;
  const int seats = domain > 0 ? domain : usual.topology.hosts();
  if (2 * per_node > seats || names_its_machine(table.hardware, per_node)) return {};
  return fmt::format("what adapters nodes with {} of its {} GPUs have is not known", per_node,
                     seats);
}

DiagnosisCase case_of(const MeasuredTable& table, const std::string& machine,
                      std::vector<MeasuredTime> rows, std::vector<std::string>& notes) {
  DiagnosisCase found;
  const std::string& run = rows.front().batch;
  found.table = table.name + (run.empty() ? "" : ", " + run);
  found.hardware = table.hardware;
  found.rows = std::move(rows);
  thin_sizes(found.table, found.rows, notes);
  const Scale& scale = found.rows.front().scale;
  found.machine = machine.empty() ? machine_for(table, scale, notes) : machine;
  if (machine.empty() && scale.nodes > 1) {
    found.or_machines = other_machines_of_gpus(table.hardware, scale.ranks_per_node());
    found.or_unknown = other_nodes(table, found.machine, scale.ranks_per_node());
  }
  suspect(machine.empty() ? nullptr : &table, found, notes);
  return found;
}

}  // namespace

std::vector<DiagnosisCase> diagnosis_cases(const MeasuredTable& table, const std::string& machine,
                                           std::vector<std::string>& notes) {
  std::vector<DiagnosisCase> cases;
  std::string reason = fmt::format("{}: no row to diagnose", table.name);
  bool all_wrong = false;
  if (std::any_of(table.times.begin(), table.times.end(), is_part))
    notes.push_back(table.name + ": rows of less than one element left out");
  for (auto& [key, rows] : rows_by_case(table)) {
    const auto& [method, scale, run] = key;
    const auto leave_out = [&, &method = method, &scale = scale](const std::string& why) {
      notes.push_back(fmt::format("{}, {} left out: {}", to_string(method), to_string(scale), why));
    };
    if (sizes_of(rows).empty()) {
      all_wrong = true;
      leave_out(fmt::format("{}: all results are wrong", table.name));
      continue;
    }
    try {
      cases.push_back(case_of(table, machine, std::move(rows), notes));
    } catch (const InvalidArgument& error) {
      reason = error.what();
      leave_out(reason);
    }
  }
  if (cases.empty() && all_wrong) {
    throw WrongResult(fmt::format("{}: no right result to diagnose", table.name));
  }
  require(!cases.empty(), reason);
  return cases;
}

Diagnosis diagnose_on_any(const DiagnosisCase& given) {
  constexpr double surely = 0.9;  // the usual machine with a fault is likelier than less than that
  Diagnosis found = diagnose(given);
  if (found.healthy) return found;
  std::string healthy;
  for (const std::string& machine : given.or_machines) {
    DiagnosisCase other = given;
    other.machine = machine;
    std::vector<std::string> unused;
    try {
      suspect(nullptr, other, unused);
      other.is_unlike_fitted = false;  // that little is known of it makes nothing healthy
    } catch (const InvalidArgument&) {
      continue;  // the library has no play there
    }
    const Diagnosis there = diagnose(other);
    const bool fits = verdict_of(there) == std::string_view("healthy") && there.sure >= surely &&
                      there.sizes.back().verdict == "as expected";
    if (!fits) continue;
    healthy +=
        fmt::format("{}{} ({:.0f} %)", healthy.empty() ? "" : " or ", machine, 100 * there.sure);
  }
  if (healthy.empty() && given.or_unknown.empty()) return found;
  const std::string otherwise =
      healthy.empty() ? "; " + given.or_unknown : fmt::format(", healthy if it is {}", healthy);
  found.untold =
      fmt::format("unhealthy ({:.0f} %: {}) if it is {}{}: name the machine with --topo",
                  100 * found.sure, fmt::join(found.cause_group, " or "), found.machine, otherwise);
  found.healthy = true;
  found.causes.clear();
  found.cause_group.clear();
  found.undecided.clear();
  return found;
}

std::vector<Diagnosis> diagnoses_where_known(const MeasuredTable& table,
                                             const std::string& machine) {
  MeasuredTable of_library = table;
  std::erase_if(of_library.times, [](const MeasuredTime& row) { return !is_nccl(row.library); });
  std::vector<Diagnosis> diagnoses;
  std::vector<std::string> notes;
  try {
    for (const DiagnosisCase& each : diagnosis_cases(of_library, machine, notes)) {
      diagnoses.push_back(diagnose_on_any(each));
    }
  } catch (const InvalidArgument&) {
    return {};
  } catch (const WrongResult&) {
    return {};
  }
  return diagnoses;
}

}  // namespace collbench

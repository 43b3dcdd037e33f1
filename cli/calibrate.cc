// `collbench calibrate`: a machine description from measured times.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/measure/run_cases.h"
#include "bench/records/environment.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/measured_files.h"
#include "cli/output_file.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/stop_request.h"
#include "heuristics/calibration/fitted_machine.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr OptionRow calibrate_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "",
     "tables: nccl-tests or rccl-tests (text, JSON), osu_allreduce, IMB, Google Benchmark "
     "JSON, CSV, records of collbench; or folders of them. Add what a table does not "
     "say: job.txt,ranks=16,nodes=2,system=mine,library=mpi"},
    {options_group, "output", "o", "FILE", "",
     "write the description here ('-': standard output); simulate, select and validate read it"},
    {options_group, "summary", "", "TEXT", "fitted to measurements",
     "summary line of the description"},
    {options_group, "collective", "", "NAME", "all-reduce", "collective whose rows to fit"},
    {options_group, "local", "", "", "",
     "measure this host (less than a minute) instead of reading files"},
    {options_group, "backend", "", "NAME", "",
     "with --local: back end whose messages are measured [shm]"},
};

constexpr int local_passes = 3;

/// Cases of every algorithm that runs anywhere, over sizes from latency to beyond the caches, in
/// several passes: a host disturbed for a second disturbs one pass.
std::vector<Case> local_cases(const std::string& backend) {
  std::vector<Case> cases;
  for (const int workers : {2, 4}) {
    for (std::int64_t bytes = 1 << 10; bytes <= 32 << 20; bytes *= 8) {
      for (const char* algorithm : {"ring", "recursive-doubling", "halving-doubling", "double-tree",
                                    "direct", "reduce-broadcast"}) {
        Case one;
        one.algorithm = algorithm;
        one.backend = backend;
        one.workers = workers;
        one.bytes = Bytes{bytes};
        cases.push_back(one);
      }
    }
  }
  const std::vector<Case> once = cases;
  for (int pass = 1; pass < local_passes; ++pass) {
    cases.insert(cases.end(), once.begin(), once.end());
  }
  return cases;
}

MeasuredTable measure_here(const std::string& backend) {
  RunPlan plan;
  plan.cases = local_cases(backend);
  plan.sampling.max_time = Seconds{0.05};
  plan.sampling.back_to_back = false;
  plan.stop_requested = stop_signal_name;
  const Environment environment = collect_environment();
  RunResult result = run_cases(plan, environment, {});
  if (result.error) std::rethrow_exception(result.error);
  RecordFile file;
  file.environment = environment;
  file.records = std::move(result.records);
  MeasuredTable table = to_measurements(file, "this host");
  table.times = medians_of(table.times);
  return table;
}

std::string cost_text(const FittedCost& cost, bool is_rate) {
  const std::string value =
      is_rate ? to_string(Bandwidth{cost.value}) : to_string(Seconds{cost.value});
  return fmt::format("{:>12}  within {:.2f} times", value, cost.factor);
}

void print_cost(const char* name, const FittedCost& cost, bool is_rate) {
  if (cost.value > 0) std::cout << fmt::format("  {:<18}{}\n", name, cost_text(cost, is_rate));
}

void print_machine(const FittedMachine& machine) {
  std::cout << fmt::format("machine, {}\n", machine.basis);
  print_cost("per collective", machine.overhead, false);
  print_cost("node latency", machine.node_latency, false);
  print_cost("node rate", machine.node_rate, true);
  print_cost("network latency", machine.network_latency, false);
  print_cost("network rate", machine.network_rate, true);
  print_cost("reduction rate", machine.reduction_rate, true);
  if (machine.error > 0) {
    std::cout << fmt::format("  simulated from these, the same times are off by {} in the median\n",
                             percent(machine.error));
  }
}

void print_structures(const Calibration& calibration) {
  for (const StructuralModel& structure : calibration.structures()) {
    const NetworkModel& model = network_model(structure.interconnect());
    std::cout << fmt::format("\n{}{}{} network: {}\n", structure.system(),
                             structure.system().empty() ? "" : ", ", model.name, structure.basis());
    for (std::size_t k = 0; k < model.constants.size(); ++k) {
      const NetworkConstant& constant = model.constants[k];
      const FittedConstant& fitted = structure.fit().constants[k];
      std::cout << fmt::format("  {:<24} {:>9.3g} {:<10} within {:.2f} times; expected {:.3g}\n",
                               constant.name, fitted.value, constant.unit, fitted.factor,
                               constant.prior);
    }
  }
}

/// What the figures say against using the fit.
void warn_of_fit(const char* what, const char* remedy, const std::vector<HeldOut>& held,
                 std::vector<std::string>& notes) {
  const ErrorSummary summary = summarize_held_out(held, Bytes{1024});
  if (summary.points == 0 || summary.p90 <= 1) return;
  notes.push_back(fmt::format(
      "the fit does not predict {0} that it has not seen: with each left out, one point in ten is "
      "off by more than {1}. {2} would help",
      what, percent(summary.p90), remedy));
}

/// Constants that beat the hardware, by more than twice what they are unsure of.
void warn_of_constants(const Calibration& calibration, std::vector<std::string>& notes) {
  for (const StructuralModel& structure : calibration.structures()) {
    const NetworkModel& model = network_model(structure.interconnect());
    for (std::size_t k = 0; k < model.constants.size(); ++k) {
      const NetworkConstant& constant = model.constants[k];
      const FittedConstant& fitted = structure.fit().constants[k];
      const double share = constant.data_sheet / fitted.value;
      if (share <= fitted.factor * fitted.factor) continue;
      notes.push_back(fmt::format(
          "'{}' ({}) would be used at {} of its data-sheet rate, which is impossible: another "
          "network, other numbers of nodes or ranks, or times in another unit",
          constant.name, constant.meaning, percent(share)));
    }
  }
}

void print_models(const Calibration& calibration) {
  std::cout << fmt::format("\n{:<44} {:>6} {:>6}  {}\n", "method", "scales", "points", "sizes");
  for (const MeasuredMethod& measured : calibration.measured()) {
    std::set<Scale> scales;
    Bytes least = measured.points.front().bytes;
    Bytes most = least;
    for (const MeasuredTime& row : measured.points) {
      scales.insert(row.scale);
      least = std::min(least, row.bytes);
      most = std::max(most, row.bytes);
    }
    std::cout << fmt::format("{:<44} {:>6} {:>6}  {} to {}\n", to_string(measured.method),
                             scales.size(), measured.points.size(), to_string(least),
                             to_string(most));
  }
}

/// Share of the network's (or node's) rate that a measured size reaches at the largest scale.
void print_efficiency(const Calibration& calibration, const FittedMachine& machine) {
  const std::span<const MeasuredMethod> methods = calibration.measured();
  const MeasuredMethod& fullest = *std::max_element(
      methods.begin(), methods.end(),
      [](const auto& a, const auto& b) { return a.points.size() < b.points.size(); });
  const Scale scale = fullest.points.back().scale;
  const double rate = scale.nodes > 1 ? machine.network_rate.value : machine.node_rate.value;
  if (rate <= 0) return;
  std::cout << fmt::format("\nreached share of the {} rate by '{}' on {}\n ",
                           scale.nodes > 1 ? "network" : "node", to_string(fullest.method),
                           to_string(scale));
  const auto largest =
      std::ranges::max(fullest.points, {}, [](const auto& row) { return row.bytes.count; }).bytes;
  for (std::int64_t bytes = 1 << 10; bytes <= largest.count; bytes *= 16) {
    const auto estimate = calibration.estimate(fullest.method, scale, Bytes{bytes});
    if (!estimate) continue;
    const double sent =
        bus_factor(fullest.method.collective, scale.ranks) * static_cast<double>(bytes);
    std::cout << fmt::format(" {}: {:.1f} %", to_string(Bytes{bytes}),
                             100 * sent / estimate->time.count() / rate);
  }
  std::cout << '\n';
}

void print_errors(const char* what, const std::vector<HeldOut>& held) {
  std::set<std::string> systems;
  for (const HeldOut& point : held) systems.insert(point.measured.system);
  std::map<std::string, std::vector<HeldOut>> parts;
  for (const HeldOut& point : held) {
    const std::string of = systems.size() > 1 ? " of " + point.measured.system : "";
    parts[to_string(point.measured.scale) + of].push_back(point);
  }
  std::cout << fmt::format("\n{:<32} {:>6} {:>9} {:>9} {:>11}\n", what, "points", "median", "p90",
                           "in 80 % bar");
  const auto line = [](const std::string& name, const std::vector<HeldOut>& points) {
    const ErrorSummary summary = summarize_held_out(points, Bytes{1024});
    if (summary.points == 0) return;
    std::cout << fmt::format("{:<32} {:>6} {:>9} {:>9} {:>11}\n", name, summary.points,
                             percent(summary.median), percent(summary.p90),
                             percent(summary.within));
  };
  for (const auto& [scale, points] : parts) line(scale, points);
  line("all, from 1 KiB", held);
}

int calibrate(const Settings& settings) {
  const bool local = settings.flag("local");
  const std::string& out = settings.text("output");
  require(local != settings.given("FILE"),
          local ? "calibrate: --local measures this host; it takes no FILE"
                : "calibrate: name files of measurements, or --local");
  const std::vector<MeasuredTable> tables =
      local ? std::vector{measure_here(settings.given("backend") ? settings.text("backend")
                                                                 : usual_backend().name)}
            : read_measured_files(settings.words("FILE"), collective_asked(settings));
  const std::vector<MeasuredTime> rows = all_rows(tables);
  const Calibration calibration(rows);
  std::vector<std::string> notes = calibration.notes();
  const std::vector<HeldOut> by_scale = leave_one_scale_out(rows, false, notes);
  warn_of_fit("scales", "Scales in between, or tables measured alike,", by_scale, notes);
  const std::vector<HeldOut> by_size = leave_one_size_out(rows, notes);
  warn_of_fit("sizes", "More sizes, or repeated measurements,", by_size, notes);
  warn_of_constants(calibration, notes);
  if (out != "-") {
    const FittedMachine machine = fit_machine(calibration);
    print_machine(machine);
    print_structures(calibration);
    print_models(calibration);
    print_efficiency(calibration, machine);
    print_errors("held out by scale (nodes > 1)", by_scale);
    print_errors("held out by size", by_size);
  }
  for (const std::string& note : notes) {
    (out == "-" ? std::cerr : std::cout) << "note: " << note << '\n';
  }
  if (out.empty()) return exit_ok;
  std::set<std::string> sources;
  for (const MeasuredTable& table : tables) {
    sources.insert(table.source.empty() ? table.name : table.source);
  }
  write_output(out, [&](std::ostream& file) {
    file << to_toml(calibration, settings.text("summary"),
                    fmt::format("{}", fmt::join(sources, "; ")));
  });
  if (out != "-") std::cout << fmt::format("\nwrote {}\n", out);
  return exit_ok;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  add_command(app, "calibrate", "fit a machine to measured times, and say how well it predicts",
              calibrate_rows, action, calibrate);
}

}  // namespace collbench

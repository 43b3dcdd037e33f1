// `collbench simulate`: the same cases as `run`, on a network from a file or a name.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/measure/run_cases.h"
#include "bench/records/environment.h"
#include "bench/reports/formats.h"
#include "bench/simulated/files.h"
#include "bench/simulated/team.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/reporters.h"
#include "cli/simulate_options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/stop_request.h"
#include "heuristics/calibration/fit.h"

namespace collbench {
namespace {

std::string simulated_case(const Case& point) {
  return fmt::format("{:<24} {:<32} workers={:<6} {:>10}  {}", point.algorithm,
                     point.simulated.topology, point.workers, to_string(point.bytes),
                     to_string(point.type));
}

RunPlan plan_of(std::vector<Case> cases, std::shared_ptr<CaseBinder> binder,
                ProgressLine& progress) {
  RunPlan plan;
  plan.cases = std::move(cases);
  follow(plan, progress, simulated_case);
  plan.choose = [binder](const Case& point, int) { return binder->decide_algorithm(point); };
  plan.make = [team = std::make_shared<SimulatedTeam>(binder)](const Case&, const Sampling&) {
    return team;
  };
  return plan;
}

constexpr const char* detail_options[] = {"trace", "links", "ranks"};

bool wants_details(const Settings& settings) {
  return std::ranges::any_of(detail_options,
                             [&](const char* name) { return settings.given(name); });
}

/// Files about one case alone: trace, links, ranks.
void write_details(const Settings& settings, const std::vector<Record>& records,
                   CaseBinder& binder) {
  if (!wants_details(settings)) return;
  Case point = records.front().point;
  point.algorithm = records.front().algorithm_chosen;
  const Played played =
      play_case(point, binder, settings.given("trace") ? most_traced_transfers : 0);
  const auto write = [&](const char* name, const auto& writer) {
    write_output(settings.text(name),
                 [&](std::ostream& out) { writer(out, played.scenario, played.outcome); });
  };
  write("trace", write_chrome_trace);
  write("links", write_link_csv);
  write("ranks", write_rank_csv);
}

void check_details(const Settings& settings, const std::vector<Case>& cases) {
  for (const char* name : detail_options) {
    require(settings.text(name).empty() || cases.size() == 1,
            fmt::format("{} shows one case; these are {} (choose with -b, --algo, --filter)",
                        settings.label(name), cases.size()));
  }
}

/// Where ranks that do not fill the nodes of a cluster sit, once for each.
void tell_seats(const std::vector<Case>& cases, CaseBinder& binder) {
  std::set<std::string> told;
  for (const Case& point : cases) {
    if (point.simulated.mapping != Simulated().mapping) continue;
    const Topology& topology = binder.machine_of(point).topology;
    const std::string words =
        words_on_seats(topology, point.workers, nodes_of(topology.layout(), point.workers));
    if (words.empty() || !told.insert(words).second) continue;
    std::cerr << fmt::format("collbench: {}: {} (--mapping says otherwise)\n",
                             point.simulated.topology, words);
  }
}

/// What is by the fit of a calibrated file and what by its plain machine, where there is both.
void tell_fits(const std::vector<Record>& records, CaseBinder& binder) {
  std::set<std::string> fitted;
  std::set<std::string> plain;
  for (const Record& record : records) {
    Case point = record.point;
    point.algorithm = record.algorithm_chosen;
    std::string remark;
    const bool is_modelled = binder.measure_modelled(point, remark).has_value();
    if (!remark.empty())
      plain.insert(record.point.algorithm);
    else if (is_modelled)
      fitted.insert(record.point.algorithm);
  }
  if (fitted.empty() || plain.empty()) return;
  std::cerr << fmt::format(
      "collbench: by the fit of the file: {}; played on its plain machine: {}; the two do not "
      "compare (--explain says why)\n",
      fmt::join(fitted, ", "), fmt::join(plain, ", "));
}

/// Of several cases those that cannot be played, as a library's in groups, are left out with a
/// note. Throws InvalidArgument if there are no others.
void leave_out_unplayable(std::vector<Case>& cases, CaseBinder& binder) {
  std::vector<std::string> reasons;
  std::erase_if(cases, [&](const Case& point) {
    try {
      binder.require_playable(point);
      return false;
    } catch (const InvalidArgument& error) {
      if (std::ranges::count(reasons, error.what()) == 0) reasons.emplace_back(error.what());
      return true;
    }
  });
  require(!cases.empty() || reasons.empty(), reasons.empty() ? "" : reasons.front());
  for (const std::string& reason : reasons) std::cerr << "left out: " << reason << '\n';
}

int simulate_cases(const Settings& settings, std::vector<Case> cases) {
  require(!settings.flag("check") || !settings.flag("real-data"),
          "--check plays on two engines, of which only simgrid moves --real-data: leave one out");
  check_details(settings, cases);
  ProgressLine progress(use_progress(settings.text("progress")));
  const auto binder =
      std::make_shared<CaseBinder>(settings.flag("check") || wants_details(settings));
  leave_out_unplayable(cases, *binder);  // before a file is replaced
  const RunPlan plan = plan_of(std::move(cases), binder, progress);
  Environment environment = run_environment(settings);
  const Outputs outputs = outputs_of(settings, record_format_names());
  tell_seats(plan.cases, *binder);
  ReporterSet reporters(outputs, plan.sampling);
  const bool is_table = outputs.console.empty() || outputs.console == "table";
  if (settings.flag("explain"))
    reporters.add(explaining_reporter(is_table ? std::cout : std::cerr));
  watch_stop_signals();
  const RunResult result = run_cases(plan, environment, reporters.pointers());
  progress.clear();
  reporters.close();
  const int code = exit_code_of(result);
  if (code == exit_ok) tell_fits(result.records, *binder);
  if (code == exit_ok) write_details(settings, result.records, *binder);
  if (settings.flag("check")) {
    for (const Record& record : result.records) {
      Case point = record.point;
      point.algorithm = record.algorithm_chosen;
      std::cerr << fmt::format("collbench: {}: {}\n", case_name(point),
                               check_engines(point, *binder));
    }
  }
  return code;
}

int simulate_command(const Settings& settings) {
  if (settings.given("workload")) return simulate_workload(settings);
  std::vector<Case> cases = simulated_cases_of(settings);
  if (!settings.flag("list")) return simulate_cases(settings, std::move(cases));
  for (const Case& point : cases) std::cout << simulated_case(point) << '\n';
  return exit_ok;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  add_command(app, "simulate", "play the same cases on a simulated network", simulate_option_rows(),
              action, simulate_command, explicit_file_of);
}

}  // namespace collbench

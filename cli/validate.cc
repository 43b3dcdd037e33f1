// `collbench validate`: measured against predicted, table by table.
#include <algorithm>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "bench/reports/diagnosis_report.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/fit_tables.h"
#include "cli/measured_files.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"
#include "core/quantile.h"
#include "heuristics/calibration/calibration.h"
#include "heuristics/calibration/fidelity.h"
#include "heuristics/diagnosis/table_cases.h"

namespace collbench {
namespace {

constexpr OptionRow validate_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "",
     "tables or folders of them, as for calibrate; FILE,ranks=16,nodes=2 adds what a table does "
     "not say",
     Presence::required},
    {options_group, "machine", "t", "NAME", "",
     "what to predict with: any machine as for 'simulate --topo', or a file of calibrate",
     Presence::optional, "topo"},
    {options_group, "fit", "", "FILE", "", fit_help},
    {options_group, "collective", "", "NAME", "all-reduce", "collective whose rows to judge"},
    {options_group, "held-out", "", "", "",
     "instead of --machine: predict every scale from a fit to all others"},
    {options_group, "single-nodes", "", "", "",
     "with --held-out: single nodes too, though no other table measures their inside"},
    {options_group, "from", "", "SIZE", "1K", "leave smaller vectors out"},
    {options_group, "points", "", "", "", "print every point"},
    {options_group, "json", "", "", "", "print JSON"},
};

using HeldOutGroups = std::map<std::string, std::vector<HeldOut>>;

/// The median of the errors with their signs: above 0, predictions are too slow.
double bias_of(const std::vector<HeldOut>& points) {
  std::vector<double> errors;
  for (const HeldOut& point : points) errors.push_back(point.error());
  return errors.empty() ? 0 : quantile(std::move(errors), 0.5);
}

/// What is taken to have been played, with the number of points of each.
std::map<std::string, int> assumed_in(const std::vector<HeldOut>& points) {
  std::map<std::string, int> counts;
  for (const HeldOut& point : points) {
    if (!point.assumed.empty()) ++counts[point.assumed];
  }
  return counts;
}

std::string both(const ErrorSummary& summary) {
  if (summary.points == 0) return "-";
  return fmt::format("{:.1f} / {:.1f}", 100 * summary.median, 100 * summary.p90);
}

void print_row(const std::string& name, const std::vector<HeldOut>& points, std::size_t width) {
  const ErrorSummary all = summarize_held_out(points);
  std::cout << fmt::format("{:<{}} {:>6} {:>13} {:>+7.1f}", name, width, all.points, both(all),
                           100 * bias_of(points));
  for (const SizeBand& band : size_bands) {
    std::cout << fmt::format(" {:>13}", both(summarize_held_out(points, band.least, band.most)));
  }
  std::cout << '\n';
}

void print_groups(const HeldOutGroups& groups, const std::vector<HeldOut>& all) {
  std::size_t width = 5;
  for (const auto& [name, points] : groups) width = std::max(width, name.size());
  std::cout << fmt::format("{:<{}} {:>6} {:>13} {:>7}", "table", width, "points", "all sizes",
                           "bias");
  for (const SizeBand& band : size_bands) std::cout << fmt::format(" {:>13}", band.name);
  std::cout << "\n# |predicted / measured - 1|, median / 90th percentile, %; bias: median with its "
               "sign, + too slow\n";
  for (const auto& [name, points] : groups) print_row(name, points, width);
  print_row("all", all, width);
  for (const auto& [name, points] : groups) {
    std::string plays;
    for (const auto& [assumed, count] : assumed_in(points)) {
      plays +=
          fmt::format("{}{} ({})", plays.empty() ? "" : "; ", assumed, counted(count, "point"));
    }
    if (!plays.empty()) std::cout << fmt::format("# {} assumed as {}\n", name, plays);
  }
}

void print_points(const std::vector<HeldOut>& all) {
  for (const HeldOut& point : all) {
    const MeasuredTime& row = point.measured;
    std::cout << fmt::format(
        "{} | {} | {:>8} | measured {:>9} | predicted {:>9} | {:+.1f} %{}{}\n",
        to_string(method_of(row)), to_string(row.scale), to_string(row.bytes), to_string(row.time),
        to_string(point.predicted.time), 100 * point.error(),
        point.assumed.empty() ? "" : " | as " + point.assumed,
        point.predicted.extrapolates.empty() ? "" : "  (" + point.predicted.extrapolates + ")");
  }
}

void print_json(const HeldOutGroups& groups, const std::vector<HeldOut>& all,
                const std::string& sample) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  const auto add = [&](const std::string& name, const std::vector<HeldOut>& points) {
    const ErrorSummary summary = summarize_held_out(points);
    nlohmann::ordered_json row = {
        {"table", name},      {"points", summary.points}, {"median", summary.median},
        {"p90", summary.p90}, {"worst", summary.worst},   {"bias", bias_of(points)}};
    const std::map<std::string, int> plays = assumed_in(points);
    if (!plays.empty()) row["assumed"] = plays;
    if (summary.points > 0) row["within_80_percent_interval"] = summary.within;
    tables.push_back(std::move(row));
  };
  for (const auto& [name, points] : groups) add(name, points);
  add("all", all);
  if (!sample.empty()) tables.back()["sample"] = sample.substr(2);
  std::cout << json_text(tables, 2) << '\n';
}

/// Whether the points were fitted; empty for a machine that was not.
std::string sample_of(const Predictor& predictor, const std::vector<HeldOut>& all) {
  if (predictor.calibration() == nullptr) return {};
  std::vector<MeasuredTime> judged;
  for (const HeldOut& point : all) judged.push_back(point.measured);
  const std::span<const MeasuredTime> fitted = predictor.calibration()->points();
  return sample_line(std::ssize(fitted), shared_points(fitted, judged), judged.size());
}

/// The name of a table without its folder, where no other table has the same.
std::string short_name(const std::string& path, const std::vector<MeasuredTable>& tables) {
  const auto base = [](const std::string& name) { return name.substr(name.rfind('/') + 1); };
  const auto same = std::ranges::count_if(tables, [&](const MeasuredTable& table) {
    return table.name != path && base(table.name) == base(path);
  });
  return same > 0 ? path : base(path);
}

int validate(const Settings& settings) {
  const bool held_out = settings.flag("held-out");
  const int ways =
      (held_out ? 1 : 0) + (settings.given("machine") ? 1 : 0) + (settings.given("fit") ? 1 : 0);
  require(ways == 1,
          "validate: name one to predict with: a machine (--machine), tables to fit to "
          "(--fit), or --held-out, which predicts each scale from the others");
  const Bytes least = settings.size("from");
  const CollectiveKind kind = collective_asked(settings);
  std::vector<MeasuredTable> tables = read_measured_files(settings.words("FILE"), kind);
  std::vector<std::string> notes;
  std::vector<HeldOut> all;
  HeldOutGroups groups;
  std::string sample;
  const auto add = [&](const std::string& name, HeldOut point) {
    if (point.measured.bytes < least) return;
    groups[name].push_back(point);
    all.push_back(std::move(point));
  };
  if (held_out) {
    sample = "# held out: every scale is predicted from a fit to the others";
    for (HeldOut& point :
         leave_one_scale_out(all_rows(tables), settings.flag("single-nodes"), notes)) {
      const std::string name = fmt::format("{}, {}", to_string(method_of(point.measured)),
                                           to_string(point.measured.scale));
      add(name, std::move(point));
    }
  } else {
    const Predictor predictor =
        settings.given("fit")
            ? Predictor(Calibration(rows_to_fit(settings.text("fit"), kind, all_rows(tables))))
            : Predictor(settings.text("machine"));
    if (const Calibration* calibration = predictor.calibration()) notes = calibration->notes();
    for (const MeasuredTable& table : tables) {
      // A fit knows a system as it was measured, faults and all.
      if (predictor.calibration() == nullptr) {
        for (const Diagnosis& each : diagnoses_where_known(table, settings.text("machine"))) {
          if (needs_hint(each)) notes.push_back(diagnosis_hint(each));
        }
      }
      for (HeldOut& point : predictor.predict_all(table.times, notes)) {
        const std::string suffix = tables.size() > 1 && table.times.size() < 200
                                       ? ""
                                       : ", " + to_string(method_of(point.measured)) + ", " +
                                             to_string(point.measured.scale);
        add(short_name(table.name, tables) + suffix, std::move(point));
      }
    }
    sample = sample_of(predictor, all);
  }
  for (const std::string& note : notes) std::cerr << "note: " << note << '\n';
  require(!all.empty(), "nothing could be predicted; the notes say why");
  if (settings.flag("json")) {
    print_json(groups, all, sample);
    return exit_ok;
  }
  if (settings.flag("points")) print_points(all);
  if (!sample.empty()) std::cout << sample << '\n';
  print_groups(groups, all);
  const bool has_intervals = std::ranges::any_of(
      all, [](const HeldOut& point) { return point.predicted.low < point.predicted.high; });
  if (has_intervals) {
    std::cout << fmt::format("# the 80 % intervals hold {} of the points\n",
                             percent(summarize_held_out(all).within));
  }
  return exit_ok;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  add_command(app, "validate", "predict measured tables from a machine, and show the errors",
              validate_rows, action, validate);
}

}  // namespace collbench

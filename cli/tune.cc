// `collbench tune`: rules for a library's own all-reduces, found, loaded and proven.
#include "bench/tuning/tune.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/measure/measure_case.h"
#include "bench/measure/sweep.h"
#include "bench/tuning/offline.h"
#include "bench/tuning/proof.h"
#include "bench/verdicts/statistics_ranks.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/measured_files.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/scratch_folder.h"
#include "core/stop_request.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr OptionRow tune_rows[] = {
    {options_group, "library", "", "NAME", "openmpi", "library to tune: the MPI of this build"},
    {options_group, "budget", "", "TIME", "60s", "time for all measurements, including the proof"},
    {options_group, "workers", "W", "N[,..]", "2,4", "numbers of ranks, one world for each"},
    {sizes_group, "minbytes", "b", "SIZE", "4", "smallest vector of a rank"},
    {sizes_group, "maxbytes", "e", "SIZE", "16M", "largest vector"},
    {sizes_group, "stepfactor", "f", "X", "4", "each size is X times the one before"},
    {options_group, "timeout", "", "TIME", "60s", "give up on a rank that is silent for this long"},
    {options_group, "offline", "", "FILE", "",
     "search this table of measured times instead, and report the loss"},
    {options_group, "share", "", "PERCENT", "15%", "share of the table that --offline may use"},
    {output_group, "output", "o", "FILE", "", "write the rules here"},
};

std::string what_is_missing(const std::string& library) {
  for (const Backend& backend : backends()) {
    if (backend.name != library) continue;
    const std::string why = why_unavailable(backend);
    const std::string cause =
        why.empty() ? "" : fmt::format("nothing can be measured ({}), and ", why);
    return cause +
           "it takes no rules from here that a second run could prove; rules by a model are "
           "written by 'select --export'";
  }
  std::string missing;  // of what libraries that can be tuned are reached through
  for (const Backend& backend : backends()) {
    if (backend.tuning != nullptr && missing.empty()) missing = why_unavailable(backend);
  }
  return (missing.empty() ? "" : missing + "; ") +
         "the MPI of a build is chosen when it is configured, with -DCOLLBENCH_MPI=openmpi or "
         "mpich";
}

const Backend& backend_of_library(const std::string& library, LibraryTuning& tuning) {
  std::vector<std::string> known;
  for (const Backend& backend : backends()) {
    if (backend.tuning == nullptr || !why_unavailable(backend).empty()) continue;
    if (auto found = backend.tuning()) {
      known.push_back(found->library);
      if (found->library != library) continue;
      tuning = *std::move(found);
      return backend;
    }
  }
  throw Unavailable(
      fmt::format("--library {}: {}; this build can tune {}", library, what_is_missing(library),
                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

/// Worlds of the library, one for each number of workers, started when first needed; `variables`
/// hold while they start.
class LibraryWorlds {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  explicit LibraryWorlds(Variables variables) : variables_(std::move(variables)) {}

  Measurement measure(const Case& point, const Sampling& sampling) {
    std::unique_ptr<Team>& team = teams_[point.workers];
    if (!team) team = start(point, sampling);
    Measurement measured = team->measure(point, sampling);
    if (stop_signal() == 0) require_unstopped(measured);
    return measured;
  }

 private:
  std::unique_ptr<Team> start(const Case& point, const Sampling& sampling) const {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
    std::unique_ptr<Team> team = make_team(point, sampling);
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
    return team;
  }

  Variables variables_;
  std::map<int, std::unique_ptr<Team>> teams_;
};

std::vector<Case> cells_of(const Settings& settings, const LibraryTuning& tuning) {
  Sweep sweep;
  sweep.algorithms = tuning.candidates;
  sweep.workers = settings.worker_counts("workers");
  for (const int workers : sweep.workers) {
    require(workers >= 2,
            fmt::format("{}: one rank has nothing to choose", settings.label("workers")));
  }
  sweep.first = settings.size("minbytes");
  require(sweep.first.count >= size_of(DataType::f32),
          fmt::format("{}: {} is less than one f32, of 4 B", settings.label("minbytes"),
                      to_string(sweep.first)));
  sweep.last = settings.size("maxbytes");
  sweep.factor = settings.number("stepfactor");
  return sweep_cases(sweep);
}

std::string gain_in_words(const Shift& shift) {
  const auto percent_of = [](double log_ratio) { return 100 * (std::exp(log_ratio) - 1); };
  return fmt::format("{:+.1f} % [{:+.1f}, {:+.1f}]", percent_of(shift.estimate),
                     percent_of(shift.low), percent_of(shift.high));
}

void print_choices(const std::vector<TunedPoint>& points) {
  std::cout << fmt::format("{:>7} {:>12}  {:<36} {}\n", "workers", "size", "best", "expected gain");
  for (const TunedPoint& point : points) {
    const double gain = 100 * (std::exp(point.gain.estimate) - 1);
    std::cout << fmt::format("{:>7} {:>12}  {:<36} ", point.best.workers,
                             to_string(point.best.bytes),
                             point.changes ? point.best.algorithm : "as the library chooses");
    std::cout << (point.changes ? fmt::format("{:+.1f} %\n", gain) : "-\n");
  }
}

std::string obeyed_in_words(const ProvenPoint& point) {
  if (!point.is_obeyed) return "-";
  return *point.is_obeyed ? "yes" : "NO";
}

std::string played_in_words(const ProvenPoint& point) {
  if (!point.played.empty() || !point.is_obeyed) return point.played;
  return *point.is_obeyed ? "as fast as it is by name" : "slower than it is by name";
}

std::string known_in_words(const ProvenPoint& point) {
  if (!point.log_ratios.empty()) return "";
  return point.has_both ? " by the search" : " by other sizes";
}

/// What the rules change only since the proof chose again.
void print_late_choices(const std::vector<TunedPoint>& before, const std::vector<TunedPoint>& now) {
  std::vector<TunedPoint> late;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].changes && !before[i].changes) late.push_back(now[i]);
  }
  if (late.empty()) return;
  std::cout << "# chosen again, by what was measured of other sizes since:\n";
  print_choices(late);
}

/// Whether every rule is obeyed.
bool print_proof(const std::vector<ProvenPoint>& points) {
  bool all_obeyed = true;
  int measurements = 0;
  std::vector<double> gains;
  std::cout << fmt::format(
      "# loaded; measured against the library's own choice:\n{:>7} {:>12}  "
      "{:<12} {:<36} gain [90 %]\n",
      "workers", "size", "obeyed", "played");
  for (const ProvenPoint& point : points) {
    measurements += point.measurements;
    all_obeyed = all_obeyed && point.is_obeyed.value_or(true);
    if (point.is_obeyed) gains.push_back(point.gain.estimate);
    std::cout << fmt::format("{:>7} {:>12}  {:<12} {:<36} {}{}\n", point.point.workers,
                             to_string(point.point.bytes), obeyed_in_words(point),
                             played_in_words(point), gain_in_words(point.gain),
                             known_in_words(point));
  }
  std::cout << fmt::format("# the proof took {} measurements more\n", measurements);
  constexpr std::size_t for_an_interval = 5;  // of 90 %
  if (gains.size() >= for_an_interval) {
    std::cout << fmt::format("# at the {} points of a sure gain the geometric mean gains {}\n",
                             gains.size(), gain_in_words(walsh_shift(gains, 0.9)));
  }
  return all_obeyed;
}

void write_rules(const TuningResult& result, const LibraryTuning& tuning, const std::string& file) {
  for (const auto& [ending, text] : tuning.files(rules_of(result, "this machine"))) {
    write_file(file + ending, text);
  }
}

/// What a stopped search found is neither complete nor proven: no file of rules is touched.
void leave_without_rules() {
  if (stop_signal() == 0) return;
  throw Stopped(fmt::format("stopped by {}: the rules are not proven, and none are written",
                            stop_signal_name()));
}

/// Measures what the rules gain, loads them, and takes back those that lose time or are not obeyed.
/// Returns the exit code.
int prove(const TuningPlan& plan, Race& race, TuningResult& result, const LibraryTuning& tuning,
          Seconds budget) {
  const ScratchFolder scratch("collbench-rules");
  const std::string file = scratch.path() + "/rules";
  std::optional<LibraryWorlds> with;
  const auto with_rules = [&](const Case& point, const Sampling& sampling) {
    if (!with) {
      write_rules(result, tuning, file);
      with.emplace(tuning.variables(file));
    }
    return with->measure(point, sampling);
  };
  const std::vector<TunedPoint> searched = result.points;
  const std::vector<ProvenPoint> points =
      prove_rules(plan, race, result, with_rules, budget, tuning.played);
  leave_without_rules();
  print_late_choices(searched, result.points);
  const bool is_obeyed = print_proof(points);
  if (const int lost = take_back(result, points); lost > 0) {
    std::cout << fmt::format(
        "# {} of these rules are taken back: a gain is not sure, or was not proven\n", lost);
  }
  if (is_obeyed) return exit_ok;
  std::cerr << "collbench: the library does not play what the rules say\n";
  return exit_gate_failed;
}

bool changes_anything(const TuningResult& result) {
  return std::any_of(result.points.begin(), result.points.end(),
                     [](const TunedPoint& point) { return point.changes; });
}

/// What the user has set holds in every world that is started: the library's own choice would be
/// what older rules say.
void require_no_rules(const LibraryTuning& tuning) {
  for (const auto& [name, value] : tuning.variables("")) {
    require(std::getenv(name.c_str()) == nullptr,
            fmt::format("{} is set, so {} would play its rules as its own choice; unset it", name,
                        tuning.library));
  }
}

void save_rules(const TuningResult& result, const LibraryTuning& tuning, const std::string& file) {
  write_rules(result, tuning, file);
  if (!changes_anything(result)) {
    std::cout << "# rules written, which leave everything to the library\n";
    return;
  }
  std::cout
      << "# rules written; other sizes and numbers of ranks are left to the library; they are "
         "loaded by";
  const std::string path = std::filesystem::absolute(file).lexically_normal();
  for (const auto& [name, value] : tuning.variables(path)) {
    std::cout << fmt::format(" {}={}", name, value);
  }
  std::cout << '\n';
}

int tune_offline(const Settings& settings) {
  const std::vector<MeasuredTime> rows = all_rows(read_measured_files({settings.text("offline")}));
  const double share = settings.fraction("share");
  std::cout << fmt::format("{:<36} {:>6} {:>7} {:>9} {:>9} {:>9}\n", "system", "cells", "looked",
                           "mean", "worst", "default");
  for (const OfflineRace& race : race_offline(rows, share)) {
    std::cout << fmt::format("{:<36} {:>6} {:>7} {:>9} {:>9} {:>9}\n", race.system, race.cells,
                             race.measurements, percent(race.mean_regret),
                             percent(race.worst_regret),
                             race.default_regret ? percent(*race.default_regret) : "-");
  }
  return exit_ok;
}

constexpr double for_the_race = 0.6;  // of the budget

TuningPlan plan_of(const Settings& settings, const LibraryTuning& tuning) {
  TuningPlan plan;
  plan.cells = cells_of(settings, tuning);
  plan.library = tuning.library;
  plan.own_choice = tuning.candidates.front();
  plan.waits_busily = tuning.waits_busily;
  plan.timeout = settings.duration("timeout");
  plan.budget = settings.duration("budget") * for_the_race;
  plan.stop_requested = stop_signal_name;
  return plan;
}

int search_and_prove(const Settings& settings, const LibraryTuning& tuning, TuningPlan plan) {
  ProgressLine progress(use_progress("auto"));
  plan.on_progress = [&](const std::string& text) { progress.show(text); };
  LibraryWorlds without({});
  plan.measure = [&](const Case& point, const Sampling& sampling) {
    return without.measure(point, sampling);
  };
  Race race = race_of(plan);
  TuningResult result = race_candidates(plan, race);
  progress.clear();
  std::cout << fmt::format("# tuning {}: {} measurements, {} candidates at {} points{}\n",
                           settings.text("library"), result.measurements, tuning.candidates.size(),
                           result.points.size(),
                           result.is_settled ? "; nothing more would pay" : "");
  print_choices(result.points);
  leave_without_rules();
  int code = exit_ok;
  if (changes_anything(result)) {
    code = prove(plan, race, result, tuning, settings.duration("budget") * (1 - for_the_race));
  } else {
    std::cout
        << (result.is_settled
                ? "# by these measurements the library's own choice is within 3 % of the best at "
                  "every point\n"
                : "# nothing that surely gains 3 % was found in this time\n");
  }
  if (settings.given("output")) save_rules(result, tuning, settings.text("output"));
  return code;
}

int tune(const Settings& settings) {
  if (settings.given("offline")) return tune_offline(settings);
  require(!settings.given("share"),
          fmt::format("{} is of a table: give it with --offline", settings.label("share")));
  LibraryTuning tuning;
  const Backend& backend = backend_of_library(settings.text("library"), tuning);
  require_usable(backend);
  require_no_rules(tuning);
  const TuningPlan plan = plan_of(settings, tuning);
  require_writable(settings, {"output"});  // before the time is spent
  watch_stop_signals();
  try {
    return search_and_prove(settings, tuning, plan);
  } catch (const Error&) {
    leave_without_rules();  // a world that was starting fails when it is stopped
    throw;
  }
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  add_command(app, "tune", "find, load and prove rules for a library's own all-reduces", tune_rows,
              action, tune);
}

}  // namespace collbench

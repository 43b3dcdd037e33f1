// `collbench sweep` and `collbench merge`: many simulated cases, spread and kept.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "bench/measure/sweep_file.h"
#include "bench/measure/task_pool.h"
#include "bench/records/environment.h"
#include "bench/records/report.h"
#include "bench/simulated/team.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/reporters.h"
#include "cli/simulate_options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/stop_request.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

/// What one process of the pool does with a case: the record as a line. Throws WrongResult if
/// `check` and a second engine disagrees.
std::string simulate_one(const Case& point, bool check) {
  static CaseBinder binder(check);  // of this process: machines are read once
  Record record;
  record.point = point;
  Case decided = point;
  if (point.algorithm == "auto") {
    const Choice choice = binder.decide_algorithm(point);
    decided.algorithm = choice.algorithm;
    record.choice_reason = choice.reason;
  }
  record.algorithm_chosen = decided.algorithm;
  record.measurement = measure_simulated(decided, binder);
  if (check) check_engines(decided, binder);
  return to_json(record);
}

/// "less than 1 s", "12 s", "3 min", "2.5 h".
std::string duration_text(Seconds duration) {
  const double seconds = duration.count();
  if (seconds < 1) return "less than 1 s";
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// Progress with the time left, from the mean of the cases done. Cases grow on the way: each counts
/// by its ranks.
class SweepProgress {
 public:
  SweepProgress(bool shown, const std::vector<Case>& cases) : line_(shown), total_(cases.size()) {
    for (const Case& point : cases) weight_left_ += point.workers;
  }

  void advance(const Case& point) {
    ++done_;
    weight_done_ += point.workers;
    weight_left_ -= point.workers;
    const Seconds elapsed = std::chrono::steady_clock::now() - begin_;
    line_.show(fmt::format("[{}/{}] {} left  {}", done_, total_,
                           duration_text(elapsed / weight_done_ * weight_left_), case_name(point)));
  }
  void clear() { line_.clear(); }

 private:
  ProgressLine line_;
  std::size_t total_;
  std::size_t done_ = 0;
  double weight_done_ = 0;
  double weight_left_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::vector<Case> cases_of_shard(std::vector<Case> cases, const Shard& shard) {
  std::vector<Case> part;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (static_cast<int>(i % static_cast<std::size_t>(shard.count)) == shard.index) {
      part.push_back(std::move(cases[i]));
    }
  }
  return part;
}

/// Shows all records in the order of the cases once the sweep is done, if a format was asked for.
void show(const Outputs& outputs, const Environment& environment, const std::vector<Case>& cases,
          const std::vector<Record>& records) {
  if (outputs.console.empty() && outputs.files.empty()) return;
  std::unordered_map<std::string, std::vector<const Record*>> by_case;
  for (const Record& record : records) by_case[to_json(record.point)].push_back(&record);
  std::vector<Record> ordered;
  for (const Case& point : cases) {
    for (const Record* record : by_case[to_json(point)]) ordered.push_back(*record);
  }
  if (ordered.empty()) return;
  ReporterSet reporters(outputs, Sampling{});
  show_records(reporters.pointers(), environment, ordered);
  reporters.close();
}

struct SweepResult {
  int done = 0;
  int failed = 0;
  int wrong = 0;  // with a wrong sum, or refuted by a second engine
};

SweepResult run_missing(const Settings& settings, const std::vector<Case>& missing,
                        SweepFile& file) {
  const int jobs =
      settings.text("jobs") == "auto" ? usable_cores() : settings.count("jobs", 1, 4096);
  SweepProgress progress(use_progress(settings.text("progress")), missing);
  SweepResult result;
  const auto case_at = [&](int task) -> const Case& {
    return missing[static_cast<std::size_t>(task)];
  };
  run_tasks(
      static_cast<int>(missing.size()), jobs,
      [&](int task) { return simulate_one(case_at(task), settings.flag("check")); },
      [&](const TaskResult& task) {
        const Case& point = case_at(task.task);
        progress.advance(point);
        if (task.failure.empty()) {
          const Record record = record_from_json(task.line);
          file.append(record);
          ++result.done;
          result.wrong += is_right(record) ? 0 : 1;
          return;
        }
        progress.clear();
        ++(task.wrong ? result.wrong : result.failed);
        std::cerr << fmt::format("collbench: {}: {}\n", case_name(point), task.failure);
      },
      [] { return !stop_signal_name().empty(); });
  progress.clear();
  return result;
}

/// Reports the outcome of the sweep on standard error.
void report(const SweepResult& result, std::size_t cases, std::size_t missing,
            const std::string& path, const Shard& shard) {
  std::string text =
      fmt::format("collbench: {} of {} cases simulated into '{}'", result.done, cases, path);
  if (missing < cases) text += fmt::format(", {} were there", cases - missing);
  if (result.failed > 0) text += fmt::format(", {} failed", result.failed);
  if (result.wrong > 0) text += fmt::format(", {} wrong", result.wrong);
  if (shard.count > 1) {
    text += fmt::format(" (part {} of {}, {})", shard.index, shard.count, shard.source);
  }
  std::cerr << text << '\n';
  if (!stop_signal_name().empty()) {
    std::cerr << "collbench: stopped by " << stop_signal_name() << "; the same command resumes\n";
  }
}

/// Refuses options of `simulate` that would be of one case.
void refuse_details(const Settings& settings) {
  for (const char* name : {"trace", "links", "ranks", "explain"}) {
    require(!settings.given(name),
            fmt::format("{} is of one case: `collbench simulate` has it; records of a sweep hold "
                        "the bottleneck in words",
                        settings.label(name)));
  }
}

/// The cases, each once; reports combinations that do not exist.
std::vector<Case> possible_cases(const Settings& settings) {
  std::vector<std::string> left_out;
  std::vector<Case> cases = simulated_cases_of(settings, &left_out);
  std::set<std::string> seen;
  std::erase_if(cases, [&](const Case& point) { return !seen.insert(to_json(point)).second; });
  if (!settings.flag("quiet")) {
    for (const std::string& line : left_out) std::cerr << "collbench: left out " << line << '\n';
  }
  return cases;
}

/// The run's, and what the machines of the cases are at present.
Environment environment_of(const Settings& settings, const std::vector<Case>& cases) {
  Environment environment = run_environment(settings);
  for (const Case& point : cases) {
    const std::string& name = point.simulated.topology;
    std::string& checksum = environment[machine_key(name)];
    if (checksum.empty()) checksum = checksum_of_machine(name);
  }
  return environment;
}

int sweep(const Settings& settings) {
  require(!settings.text("output").empty(), "--output FILE is needed: where the records go");
  require(settings.text("output") != "-",
          "--output: the same command continues the file, which standard output is not; --json - "
          "shows the records there");
  refuse_details(settings);
  const Outputs outputs = outputs_of(settings, record_format_names());
  for (const auto& [format, file] : outputs.files) require_writable(file);
  const Shard shard = parse_shard(settings.text("shard"));
  const std::string path = shard_path(settings.text("output"), shard);
  const std::vector<Case> all = possible_cases(settings);
  const std::vector<Case> cases = cases_of_shard(all, shard);
  Environment environment = environment_of(settings, cases);
  if (shard.count > 1) environment[part_key(shard, all)] = std::to_string(shard.index);
  SweepFile file(path, environment, settings.flag("fresh"));
  for (const std::string& name : file.changed_machines()) {
    std::cerr << fmt::format(
        "collbench: '{}' has times of another {}, which are simulated again or left out\n", path,
        name);
  }
  std::vector<Case> missing;
  for (const Case& point : cases) {
    if (!file.has(point)) missing.push_back(point);
  }
  watch_stop_signals();
  const SweepResult result = run_missing(settings, missing, file);
  show(outputs, environment, cases, file.records());
  if (!settings.flag("quiet")) report(result, cases.size(), missing.size(), path, shard);
  if (result.wrong > 0) return exit_wrong_result;
  if (result.failed > 0) return exit_failed;
  return stop_signal_name().empty() ? exit_ok : interrupt_exit_code();
}

std::span<const OptionRow> sweep_rows() {
  static constexpr OptionRow file[] = {
      {arguments_group, "FILE", "", "FILE", "", "settings as a file, keys as the long options"}};
  static const std::vector<OptionRow> rows = concatenated({sweep_option_rows(), file});
  return rows;
}

std::vector<ConfigLayer> sweep_files(const CLI::App& app) {
  std::vector<ConfigLayer> layers = explicit_layer(config_file_of(app, "FILE"));
  std::ranges::copy(explicit_layer(config_file_of(app)), std::back_inserter(layers));
  return layers;
}

int sweep_command(const Settings& settings) {
  if (!settings.flag("list")) return sweep(settings);
  const Shard shard = parse_shard(settings.text("shard"));
  for (const Case& point : cases_of_shard(possible_cases(settings), shard)) {
    std::cout << case_name(point) << '\n';
  }
  return exit_ok;
}

constexpr OptionRow merge_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "", "files of records", Presence::required},
    {options_group, "output", "o", "FILE", "", "the joined file", Presence::required},
};

int merge(const Settings& settings) {
  const std::vector<std::string>& files = settings.words("FILE");
  std::vector<std::string> notes;
  const RecordFile merged = merge_records(files, notes);
  for (const std::string& note : notes) std::cerr << "collbench: warning: " << note << '\n';
  write_records(settings.text("output"), merged);
  std::cerr << fmt::format("collbench: {} of {} in '{}'\n",
                           counted(std::ssize(merged.records), "record"),
                           counted(std::ssize(files), "file"), settings.text("output"));
  return exit_ok;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  add_command(app, "sweep", "simulate many cases in parallel, resumable, into a file", sweep_rows(),
              action, sweep_command, sweep_files);
}

void add_merge(CLI::App& app, Action& action) {
  add_command(app, "merge", "join files of records, such as parts of a sweep", merge_rows, action,
              merge);
}

}  // namespace collbench

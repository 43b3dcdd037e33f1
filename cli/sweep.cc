// `collbench sweep` and `collbench merge`: many simulated cases, spread and kept.
#include <chrono>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/environment.h"
#include "bench/report.h"
#include "bench/simulated_team.h"
#include "bench/sweep_file.h"
#include "bench/task_pool.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/reporters.h"
#include "cli/simulate_options.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "core/error.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

/// What one process of the pool does with a case: the record as a line.
std::string simulate_one(const Case& which) {
  static CaseBinder binder;  // of this process: machines are read once
  Record record;
  record.which = which;
  Case decided = which;
  if (which.algorithm == "auto") {
    Decided choice = binder.decide_algorithm(which);
    decided.algorithm = choice.name;
    record.choice_reason = choice.reason;
  }
  record.algorithm_chosen = decided.algorithm;
  record.measurement = measure_simulated(decided, binder);
  return to_json(record);
}

/// Progress with the time left, from the mean of the cases done.
class SweepProgress {
 public:
  SweepProgress(bool shown, std::size_t total) : line_(shown), total_(total) {}

  void advance(const Case& which) {
    ++done_;
    const Seconds elapsed = std::chrono::steady_clock::now() - begin_;
    const Seconds left = elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
    line_.show(
        fmt::format("[{}/{}] {} left  {}", done_, total_, to_string(left), case_name(which)));
  }
  void clear() { line_.clear(); }
  Seconds elapsed() const { return std::chrono::steady_clock::now() - begin_; }

 private:
  ProgressLine line_;
  std::size_t total_;
  std::size_t done_ = 0;
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
void show(const Settings& settings, const Environment& environment, const std::vector<Case>& cases,
          const std::vector<Record>& records) {
  const Outputs outputs = outputs_of(settings);
  if (!settings.given("format") && outputs.json.empty() && outputs.csv.empty() &&
      outputs.gbench.empty() && outputs.console == "table") {
    return;
  }
  ReporterSet reporters(settings, outputs, Sampling{});
  RunSummary summary;
  summary.planned = static_cast<int>(cases.size());
  for (Reporter* reporter : reporters.pointers()) reporter->begin(environment, cases);
  for (const Case& which : cases) {
    for (const Record& record : records) {
      if (to_json(record.which) != to_json(which)) continue;
      ++summary.measured;
      for (Reporter* reporter : reporters.pointers()) reporter->record(record);
    }
  }
  for (Reporter* reporter : reporters.pointers()) reporter->end(summary);
  reporters.close();
}

struct SweepResult {
  int done = 0;
  std::vector<std::string> failures;
};

SweepResult run_missing(const Settings& settings, const std::vector<Case>& missing,
                        SweepFile& file) {
  const int jobs =
      settings.text("jobs") == "auto"
          ? usable_cores()
          : static_cast<int>(parse_count(settings.label("jobs"), settings.text("jobs"), 1, 4096));
  SweepProgress progress(use_progress(settings.text("progress")), missing.size());
  SweepResult result;
  const auto case_at = [&](int task) -> const Case& {
    return missing[static_cast<std::size_t>(task)];
  };
  run_tasks(
      static_cast<int>(missing.size()), jobs, [&](int task) { return simulate_one(case_at(task)); },
      [&](const TaskResult& task) {
        progress.advance(case_at(task.task));
        if (task.failure.empty()) {
          file.append(record_from_json(task.line));
          ++result.done;
          return;
        }
        progress.clear();
        result.failures.push_back(case_name(case_at(task.task)) + ": " + task.failure);
        std::cerr << "collbench: " << result.failures.back() << '\n';
      },
      [] { return !interrupted_by().empty(); });
  progress.clear();
  return result;
}

int sweep(const Settings& settings) {
  require(!settings.text("out").empty(), "--out FILE is needed: where the records go");
  const Shard shard = parse_shard(settings.text("shard"));
  const std::string path = shard_path(settings.text("out"), shard);
  const std::vector<Case> cases = cases_of_shard(simulated_cases_of(settings), shard);
  Environment environment = collect_environment();
  environment["command"] = command_line();
  SweepFile file(path, environment, settings.flag("fresh"));
  std::vector<Case> missing;
  for (const Case& which : cases) {
    if (!file.has(which)) missing.push_back(which);
  }
  watch_interrupts();
  const SweepResult result = run_missing(settings, missing, file);
  show(settings, environment, cases, file.records());
  if (!settings.flag("quiet")) {
    std::cerr << fmt::format(
        "collbench: {} of {} cases simulated into '{}', {} were there{}{}\n", result.done,
        cases.size(), path, cases.size() - missing.size(),
        result.failures.empty() ? "" : fmt::format(", {} failed", result.failures.size()),
        shard.count == 1
            ? ""
            : fmt::format(" (part {} of {}, {})", shard.index, shard.count, shard.source));
  }
  if (!interrupted_by().empty()) return interrupt_exit_code();
  return result.failures.empty() ? exit_ok : exit_failed;
}

int sweep_command(const CLI::App& app, const std::string& file) {
  std::vector<ConfigLayer> layers;
  if (!file.empty()) layers.push_back({file, parse_config(read_text_file(file), file)});
  const std::string config = app.get_option("--config")->count() > 0
                                 ? app.get_option("--config")->as<std::string>()
                                 : std::string();
  if (!config.empty()) layers.push_back({config, parse_config(read_text_file(config), config)});
  const Settings settings(app, sweep_option_rows(), layers);
  if (settings.flag("dump-config")) {
    std::cout << settings.to_config();
    return exit_ok;
  }
  if (!settings.flag("list")) return sweep(settings);
  for (const Case& which : simulated_cases_of(settings)) std::cout << case_name(which) << '\n';
  return exit_ok;
}

int merge(const std::vector<std::string>& files, const std::string& out) {
  const RecordFile merged = merge_records(files);
  write_records(out, merged);
  std::cerr << fmt::format("collbench: {} records of {} files in '{}'\n", merged.records.size(),
                           files.size(), out);
  return exit_ok;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("sweep", "simulate many cases in parallel, resumable, into a file");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "settings as a file, keys as the long options")
      ->option_text("FILE")
      ->group("Arguments");
  declare_options(*command, sweep_option_rows());
  command->allow_extras();
  command->callback([command, file, &action] {
    action = [command, file] { return sweep_command(*command, *file); };
  });
}

void add_merge(CLI::App& app, Action& action) {
  struct Values {
    std::vector<std::string> files;
    std::string out;
  };
  auto values = std::make_shared<Values>();
  CLI::App* command =
      app.add_subcommand("merge", "join files of records, such as parts of a sweep");
  command->add_option("FILE", values->files, "files of records")
      ->option_text("FILE...")
      ->group("Arguments")
      ->required();
  command->add_option("-o,--out", values->out, "the joined file")->option_text("FILE")->required();
  command->callback(
      [values, &action] { action = [values] { return merge(values->files, values->out); }; });
}

}  // namespace collbench

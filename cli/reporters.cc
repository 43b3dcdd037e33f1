#include "cli/reporters.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/records/record_file.h"
#include "bench/reports/columns.h"
#include "bench/reports/last_run.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/stop_request.h"
#include "core/suggest.h"

namespace collbench {

namespace {

/// The names of columns that an option lists, each perhaps led by "-" if they sort.
std::vector<std::string> columns_of(const Settings& settings, std::string_view option) {
  if (!settings.declares(option)) return {};
  std::vector<std::string> names = settings.list(option);
  for (const std::string& name : names) {
    const bool descends = option == "sort" && name.starts_with('-');
    require_known(settings.label(option), descends ? name.substr(1) : name, column_names(),
                  "column");
  }
  return names;
}

}  // namespace

Outputs named_outputs(const Settings& settings, const std::vector<std::string>& formats) {
  Outputs outputs;
  if (settings.declares("format") && settings.given("format")) {
    outputs.console = settings.one_of("format", formats);
  }
  for (const std::string& name : formats) {
    if (!settings.declares(name) || settings.text(name).empty()) continue;
    const std::string& file = settings.text(name);
    if (file == "-") {
      outputs.console = name;
    } else {
      outputs.files[name] = file;
    }
  }
  return outputs;
}

Outputs outputs_of(const Settings& settings, const std::vector<std::string>& formats) {
  Outputs outputs = named_outputs(settings, formats);
  const auto is_written = [&](const char* format) {
    return outputs.console == format || outputs.files.contains(format);
  };
  const bool has_table = outputs.console.empty() || is_written("table") || is_written("markdown");
  outputs.options.raw_samples = is_written("csv") && settings.flag("raw-samples");
  outputs.options.style = {use_colour(settings.text("color"), STDOUT_FILENO), utf8_locale(),
                           settings.flag("quiet"),
                           settings.declares("verbose") && settings.flag("verbose")};
  if (has_table) {
    outputs.options.style.columns = columns_of(settings, "columns");
    outputs.options.style.sort = columns_of(settings, "sort");
  }
  return outputs;
}

namespace {

/// The records that a file holds before a run replaces them; null if it holds none. What is not
/// ours is no earlier run, whatever it is.
std::shared_ptr<LastRun> last_run_in(const std::map<std::string, std::string>& files) {
  const auto json = files.find("json");
  std::error_code unseen;  // writing it says why
  if (json == files.end() || !std::filesystem::is_regular_file(json->second, unseen))
    return nullptr;
  try {
    return std::make_shared<LastRun>(read_records(json->second),
                                     std::filesystem::path(json->second).filename().string());
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

ReporterSet::ReporterSet(Outputs outputs, const Sampling& sampling) {
  FormatOptions& options = outputs.options;
  options.last_run = last_run_in(outputs.files);
  options.sampling = sampling;
  const std::string console = outputs.console.empty() ? "table" : outputs.console;
  add(report_format("--format", console).records(std::cout, options));
  for (const auto& [name, path] : outputs.files) {
    // A file of JSON is there after every record, so that a run that is killed keeps what it had.
    if (name == "json") {
      add(json_file_reporter(path));
      continue;
    }
    files_.push_back(std::make_unique<OutputFile>(path));
    add(report_format("--format", name).records(files_.back()->stream(), options));
  }
}

std::vector<Reporter*> ReporterSet::pointers() const {
  std::vector<Reporter*> all;
  for (const auto& reporter : reporters_) all.push_back(reporter.get());
  return all;
}

void ReporterSet::close() {
  for (const auto& file : files_) file->commit();
}

void show_records(const std::vector<Reporter*>& reporters, const Environment& environment,
                  const std::vector<Record>& records) {
  require(!records.empty(), "there are no records to show");
  std::vector<Case> cases;
  RunSummary summary;
  for (const Record& record : records) {
    cases.push_back(record.point);
    ++summary.planned;
    ++(record.skipped.empty() ? summary.measured : summary.skipped);
    summary.wrong += is_right(record) ? 0 : 1;
  }
  for (Reporter* reporter : reporters) {
    reporter->begin(environment, cases);
    for (const Record& record : records) reporter->record(record);
    reporter->end(summary);
  }
}

namespace {

/// A case may take so long where the stopping rule ends it: warm-up takes a quarter of the timed
/// part, batches another, and checks and the trial of `auto` come on top.
Seconds case_time(const Sampling& sampling) { return 1.5 * sampling.max_time + sampling.trial; }

/// "14 s", "3 min 20 s".
std::string whole_seconds(Seconds time) {
  const auto seconds = static_cast<std::int64_t>(std::ceil(time.count()));
  return seconds < 120 ? fmt::format("{} s", seconds)
                       : fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

}  // namespace

void follow(RunPlan& plan, ProgressLine& progress, std::string (*words)(const Case&)) {
  plan.stop_requested = stop_signal_name;
  using Clock = std::chrono::steady_clock;
  const bool bounded = plan.sampling.iterations == 0 && !plan.cases.empty() &&
                       plan.cases.front().simulated.topology.empty();
  const Seconds longest = case_time(plan.sampling);
  plan.on_start = [&progress, words, bounded, longest, begin = Clock::now()](const Case& point,
                                                                             int place, int total) {
    const Seconds left =
        place > 0 ? (Clock::now() - begin) / place * (total - place) : longest * total;
    const std::string time = place > 0 ? fmt::format(" about {} left", whole_seconds(left))
                             : bounded ? fmt::format(" at most {}", whole_seconds(left))
                                       : "";
    progress.show(fmt::format("[{}/{}]{}  {}", place + 1, total, time, words(point)));
  };
  plan.on_measured = [&progress] { progress.clear(); };
}

int exit_code_of(const RunResult& result) {
  const RunSummary& summary = result.summary;
  if (summary.wrong > 0) {
    throw WrongResult(
        fmt::format("{} of {} cases gave a wrong result", summary.wrong, summary.measured));
  }
  if (result.error) std::rethrow_exception(result.error);
  if (summary.stopped_by.empty()) return exit_ok;
  if (stop_signal_name().empty()) throw TransportError("stopped by " + summary.stopped_by);
  return interrupt_exit_code();
}

Environment run_environment(const Settings& settings) {
  Environment environment = collect_environment();
  std::string command = read_file("/proc/self/cmdline");
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  environment["command"] = command;
  environment["seed"] = settings.at("seed").value;  // whether or not it had an effect
  return environment;
}

}  // namespace collbench

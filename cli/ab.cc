// `collbench ab`: two versions, of collbench or of any benchmark, measured in turn, and the
// verdict.
#include <chrono>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "bench/records/record_file.h"
#include "bench/verdicts/ab_command.h"
#include "cli/declare.h"
#include "cli/gate_options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/stop_request.h"

namespace collbench {
namespace {

constexpr const char* ab_group = "Measuring";

// Processes differ more than the iterations of one, so many short ones are worth more than a few
// long ones.
constexpr Seconds sequential_case_time{0.005};
constexpr Seconds fixed_case_time{0.05};

constexpr OptionRow ab_rows[] = {
    {arguments_group, "ARGS", "", "-- ARGS", "",
     "after --: what to measure, as for `run`; 5 ms (with --rounds 50 ms) per case by default"},
    {ab_group, "base", "", "BIN|CMD", "", "the collbench to compare with; with --read a command",
     Presence::required},
    {ab_group, "head", "", "BIN|CMD", "", "the collbench to judge; with --read a command",
     Presence::required},
    {ab_group, "read", "", "FORMAT", "",
     "base and head are commands for sh that print, or write to $AB_OUT: nccl-tests, osu, imb, "
     "gbench, "
     "hyperfine, csv:NAMES,TIMES[,UNITS]"},
    {ab_group, "timeout", "", "TIME", "10min", "timeout of each process"},
    {ab_group, "rounds", "", "N", "",
     "screening rounds, each of fresh processes; default: as many as the budget allows"},
    {ab_group, "confirm-rounds", "", "N", "40",
     "with --rounds: at most this many fresh rounds per suspect; 0: screening decides"},
    {ab_group, "budget", "", "TIME", "10min",
     "time for everything; no round starts that would end later"},
    {ab_group, "seed", "", "N", "1", "seed of the order of sides and cases"},
    {ab_group, "keep", "", "DIR", "", "keep the records of all rounds there"},
    {ab_group, "progress", "", "WHEN", "auto", "auto, on, off"},
    {ab_group, "no-self-check", "", "", "", "do not compare base with itself"},
};

/// The records of all rounds as files, so that `compare` can look at them again.
class KeptRecords {
 public:
  explicit KeptRecords(const std::string& folder) : folder_(folder) {
    if (!folder_.empty()) make_folder(folder_);
  }
  void add(const AbTask& task, const RecordFile& file) {
    if (folder_.empty()) return;
    const std::string name =
        fmt::format("{}{}.jsonl", task.confirms ? "fresh-" : "", to_string(task.arm));
    auto& log = logs_[name];
    if (!log) log = std::make_unique<RecordLog>(folder_ + "/" + name, file.environment);
    for (const Record& record : file.records) log->append(record);
  }

 private:
  std::string folder_;
  std::map<std::string, std::unique_ptr<RecordLog>> logs_;
};

Seconds since_start() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::steady_clock::now() - begin;
}

using MeasureRounds = std::function<std::optional<RecordFile>(const AbTask&)>;

/// Refuses thresholds that would hold for no case of what the commands print.
TimesRequest times_request_of(const Settings& settings, const GateRule& rule) {
  const TimesRequest request = parse_times_request(settings.label("read"), settings.text("read"));
  for (const CaseThreshold& exception : rule.exceptions) {
    for (const FilterTerm& term : exception.terms) {
      require(term.key == "algo" || (term.key == "bytes" && request.format->has_sizes),
              fmt::format("--threshold-for: '{}': a case of {} has no '{}', only a name (algo){}",
                          exception.filter, request.format->name, term.key,
                          request.format->has_sizes ? " and a size (bytes)" : ""));
    }
  }
  return request;
}

/// Runs either two builds of collbench or two commands.
MeasureRounds rounds_of(const Settings& settings, const AbPlan& plan) {
  const Seconds timeout = settings.duration("timeout");
  if (!settings.given("read")) {
    const auto runner = std::make_shared<AbRunner>(
        AbBinaries{settings.text("base"), settings.text("head"), settings.words("ARGS"), timeout,
                   plan.seed,
                   plan.design == AbDesign::fixed ? fixed_case_time : sequential_case_time},
        stop_signal_name);
    return [runner](const AbTask& task) { return runner->measure(task); };
  }
  require(settings.words("ARGS").empty(),
          "arguments behind -- are for collbench: with --read they belong into --base and --head");
  const auto runner = std::make_shared<AbCommandRunner>(
      AbCommands{settings.text("base"), settings.text("head"),
                 times_request_of(settings, plan.rule), timeout, plan.seed},
      stop_signal_name);
  return [runner](const AbTask& task) { return runner->measure(task); };
}

std::string title_of(const Settings& settings, const Comparison& comparison) {
  const char* key = settings.given("read") ? "command" : "git_revision";
  return fmt::format("{} against {}", value_of(comparison.head, key),
                     value_of(comparison.base, key));
}

int ab(const Settings& settings) {
  AbPlan plan;
  plan.rule = gate_rule_of(settings);
  if (settings.given("rounds")) {
    plan.design = AbDesign::fixed;
    plan.rounds = settings.count("rounds", 1, 10'000);
  } else {
    plan.design = AbDesign::sequential;
    require(!settings.given("confirm-rounds"),
            "--confirm-rounds needs --rounds: without it all rounds decide, until the budget ends");
  }
  plan.confirm_rounds = settings.count("confirm-rounds", 0, 10'000);
  plan.budget = settings.duration("budget");
  plan.seed = settings.seed();
  plan.noise_arm = !settings.flag("no-self-check");
  plan.now = since_start;
  plan.stop_requested = stop_signal_name;
  ProgressLine progress(use_progress(settings.text("progress")));
  plan.on_progress = [&](const std::string& text) { progress.show(text); };
  KeptRecords kept(settings.text("keep"));
  const MeasureRounds measure = rounds_of(settings, plan);
  plan.measure = [&](const AbTask& task) {
    std::optional<RecordFile> file = measure(task);
    if (file) kept.add(task, *file);
    return file;
  };
  watch_stop_signals();
  Comparison comparison = run_ab(plan);
  progress.clear();
  comparison.title = title_of(settings, comparison);
  return show_comparison(std::move(comparison), settings);
}

}  // namespace

void add_ab(CLI::App& app, Action& action) {
  static const std::vector<OptionRow> rows = concatenated({ab_rows, gate_option_rows()});
  add_command(app, "ab", "measure two builds in turn and say whether one is slower", rows, action,
              ab);
}

}  // namespace collbench

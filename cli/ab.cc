// `collbench ab --base BIN --head BIN -- ARGS`: two versions measured in turn, and the verdict.
#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "bench/records/record_file.h"
#include "bench/verdicts/ab_process.h"
#include "cli/declare.h"
#include "cli/gate_options.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

struct AbOptions {
  std::string base;
  std::string head;
  std::vector<std::string> arguments;
  std::string rounds = "10";
  std::string confirm_rounds = "40";
  std::string budget = "10min";
  std::string seed = "1";
  std::string progress = "auto";
  std::string keep;
  bool no_noise_arm = false;
  GateOptions gate;
};

/// The records of all rounds as files, so that `compare` can look at them again.
class KeptRecords {
 public:
  explicit KeptRecords(const std::string& folder) : folder_(folder) {
    if (folder_.empty()) return;
    std::error_code failure;
    std::filesystem::create_directories(folder_, failure);
    if (failure) throw Unavailable("cannot make '" + folder_ + "': " + failure.message());
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

std::string revision_of(const Environment& environment) {
  const auto found = environment.find("git_revision");
  return found == environment.end() ? "unknown" : found->second;
}

int ab(const AbOptions& options) {
  AbPlan plan;
  plan.rule = gate_rule_of(options.gate);
  plan.rounds = static_cast<int>(parse_count("--rounds", options.rounds, 1, 10'000));
  plan.confirm_rounds =
      static_cast<int>(parse_count("--confirm-rounds", options.confirm_rounds, 0, 10'000));
  plan.budget = parse_positive_duration("--budget", options.budget);
  plan.seed = static_cast<std::uint64_t>(
      parse_count("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()));
  plan.noise_arm = !options.no_noise_arm;
  plan.now = since_start;
  plan.stop_requested = interrupted_by;
  ProgressLine progress(use_progress(options.progress));
  plan.on_progress = [&](const std::string& text) { progress.show(text); };
  KeptRecords kept(options.keep);
  AbRunner runner({options.base, options.head, options.arguments, Seconds{600}, plan.seed},
                  interrupted_by);
  plan.measure = [&](const AbTask& task) {
    std::optional<RecordFile> file = runner.measure(task);
    if (file) kept.add(task, *file);
    return file;
  };
  watch_interrupts();
  Comparison comparison = run_ab(plan);
  progress.clear();
  comparison.title =
      options.gate.title.empty()
          ? fmt::format("{} against {}", revision_of(comparison.head), revision_of(comparison.base))
          : options.gate.title;
  return show_comparison(comparison, options.gate);
}

void declare_measuring(CLI::App& command, AbOptions& options) {
  const auto add = [&](const char* name, std::string& value, const char* metavar, const char* help,
                       Presence presence = Presence::optional) {
    add_option(command, value, name, metavar, help, "Measuring", presence);
  };
  add("--base", options.base, "BIN", "the collbench to compare with", Presence::required);
  add("--head", options.head, "BIN", "the collbench to judge", Presence::required);
  add("--rounds", options.rounds, "N", "screening rounds, each of fresh processes (10)");
  add("--confirm-rounds", options.confirm_rounds, "N",
      "fresh rounds of a suspect at most (40); 0: screening decides");
  add("--budget", options.budget, "TIME",
      "all in all; a round that would end later is left (10min)");
  add("--seed", options.seed, "N", "of the order of arms and cases (1)");
  add("--keep", options.keep, "DIR", "keep the records of all rounds there");
  add("--progress", options.progress, "WHEN", "auto, on, off");
  add_switch(command, options.no_noise_arm, "--no-self-check", "leave out base against itself",
             "Measuring");
}

}  // namespace

void add_ab(CLI::App& app, Action& action) {
  const auto options = std::make_shared<AbOptions>();
  CLI::App& command =
      add_command(app, "ab", "measure two builds in turn and say whether one is slower", action,
                  [options] { return ab(*options); });
  add_argument(command, options->arguments, "-- ARGS",
               "after --: what to measure, as `run` takes it; 50 ms per case unless it says",
               Presence::optional);
  declare_measuring(command, *options);
  declare_gate_options(command, options->gate);
}

}  // namespace collbench

// `collbench history`: ratios to a pinned reference over time, and since when they changed.
#include "bench/verdicts/history.h"

#include <ctime>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/records/environment.h"
#include "bench/records/record_file.h"
#include "bench/verdicts/compare.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

struct HistoryOptions {
  std::string database = "collbench-history.sqlite";
  std::string reference;
  std::string head;
  std::string when;
  std::string name;
  std::string keep;
  std::string p = "0.01%";
  std::string least = "3%";
};

/// ISO 8601 in UTC, so that text sorts as time does.
void check_when(const std::string& when) {
  std::tm parts{};
  const char* end = strptime(when.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  require(end != nullptr && *end == '\0',
          fmt::format("--when: '{}' is no time; write 2026-11-21T14:30:00Z", when));
}

ChangeRule rule_of(const HistoryOptions& options) {
  ChangeRule rule;
  rule.p = parse_fraction("--p", options.p);
  rule.least_change = parse_fraction("--least", options.least);
  return rule;
}

int add_job(const HistoryOptions& options) {
  const RecordFile reference = read_records(options.reference);
  const RecordFile head = read_records(options.head);
  require_sound(reference, options.reference);
  require_sound(head, options.head);
  const Comparison comparison = compare_files(reference, head, GateRule{}, false);
  require(comparison.mismatches.empty(),
          fmt::format("reference and head were not measured on one machine: {}",
                      fmt::join(comparison.mismatches, ", ")));
  if (!options.when.empty()) check_when(options.when);
  History history(options.database);
  const HistoryJob job = history.add(comparison, options.when.empty() ? now_utc() : options.when);
  std::cerr << fmt::format("collbench: job {} with {} cases in '{}'\n", job.id, job.cases,
                           options.database);
  for (const std::string& warning : comparison.warnings) {
    std::cerr << "collbench: warning: " << warning << '\n';
  }
  return exit_ok;
}

int list_jobs(const HistoryOptions& options) {
  const History history(options.database);
  std::cout << fmt::format("{:>4}  {:<20}  {:<14}  {:<14}  {:>5}  {}\n", "job", "when", "revision",
                           "reference", "cases", "machine");
  for (const HistoryJob& job : history.jobs()) {
    std::cout << fmt::format("{:>4}  {:<20}  {:<14}  {:<14}  {:>5}  {}\n", job.id, job.when,
                             job.revision, job.reference, job.cases, job.machine);
  }
  return exit_ok;
}

std::string value_text(const StoredPoint& point) {
  if (point.exact) return fmt::format("{:.12g} us (exact)", point.value / 1e3);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", point.value, point.low, point.high);
}

const ChangePoint* change_at(const StoredSeries& series, std::size_t place) {
  for (const ChangePoint& change : series.changes) {
    if (change.at == place) return &change;
  }
  return nullptr;
}

int show_case(const HistoryOptions& options) {
  const StoredSeries series = History(options.database).series(options.name, rule_of(options));
  std::cout << series.name << '\n';
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const StoredPoint& point = series.points[i];
    if (const ChangePoint* change = change_at(series, i)) {
      std::cout << fmt::format("      {:-^60}\n",
                               " " + percent_text(change->after / change->before) + " ");
    }
    std::cout << fmt::format("{:>4}  {:<20}  {:<14}  {}\n", point.job.id, point.job.when,
                             point.job.revision, value_text(point));
  }
  return exit_ok;
}

int show_changes(const HistoryOptions& options) {
  const History history(options.database);
  const std::vector<std::string> names =
      options.name.empty() ? history.cases() : std::vector<std::string>{options.name};
  int found = 0;
  for (const std::string& name : names) {
    const StoredSeries series = history.series(name, rule_of(options));
    for (const ChangePoint& change : series.changes) {
      const HistoryJob& job = series.points[change.at].job;
      std::cout << fmt::format("{}  {}  since {} (job {})  {}\n", job.when,
                               percent_text(change.after / change.before), job.revision, job.id,
                               name);
      ++found;
    }
  }
  std::cerr << fmt::format("collbench: {} changes in {} cases\n", found, names.size());
  return exit_ok;
}

int prune_jobs(const HistoryOptions& options) {
  const int keep = static_cast<int>(parse_count("--keep", options.keep, 0, 1'000'000'000));
  const int gone = History(options.database).prune(keep);
  std::cerr << fmt::format("collbench: {} jobs removed\n", gone);
  return exit_ok;
}

using SharedOptions = std::shared_ptr<HistoryOptions>;

CLI::App& add_verb(CLI::App& parent, const char* name, const char* help,
                   const SharedOptions& options, Action& action,
                   int (*run)(const HistoryOptions&)) {
  CLI::App& verb =
      add_command(parent, name, help, action, [options, run] { return run(*options); });
  add_option(verb, options->database, "--db", "FILE", "the history (collbench-history.sqlite)",
             "Where");
  return verb;
}

void declare_rule(CLI::App& verb, HistoryOptions& options) {
  add_option(verb, options.p, "--p", "PERCENT", "largest chance of a change that is none (0.01%)",
             "Changes");
  add_option(verb, options.least, "--least", "PERCENT", "smaller changes are none (3%)", "Changes");
}

}  // namespace

void add_history(CLI::App& app, Action& action) {
  CLI::App& command = add_command_group(
      app, "history", "ratios to a pinned reference over time, and their changes");
  const auto options = std::make_shared<HistoryOptions>();
  CLI::App& add = add_verb(command, "add", "add one job: records of the reference and of a version",
                           options, action, add_job);
  add_argument(add, options->reference, "REFERENCE", "records of the pinned reference",
               Presence::required);
  add_argument(add, options->head, "HEAD", "records of the version, of the same job",
               Presence::required);
  add_option(add, options->when, "--when", "TIME", "time of the job, UTC; now if not given",
             "Where");
  add_verb(command, "list", "the jobs in the history", options, action, list_jobs);
  CLI::App& show = add_verb(command, "show", "the series of a case, with its changes", options,
                            action, show_case);
  add_argument(show, options->name, "CASE", "its name, as `history changes` shows it",
               Presence::required);
  declare_rule(show, *options);
  CLI::App& changes = add_verb(command, "changes", "where the level of a case moved", options,
                               action, show_changes);
  add_argument(changes, options->name, "CASE", "only this case", Presence::optional);
  declare_rule(changes, *options);
  CLI::App& prune = add_verb(command, "prune", "remove old jobs", options, action, prune_jobs);
  add_option(prune, options->keep, "--keep", "N", "the latest jobs to keep", "Arguments",
             Presence::required);
}

}  // namespace collbench

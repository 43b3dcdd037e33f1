// `collbench history`: ratios to a pinned reference over time, and since when they changed.
#include "bench/verdicts/history.h"

#include <algorithm>
#include <ctime>
#include <iostream>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/records/environment.h"
#include "bench/records/report.h"
#include "bench/verdicts/compare.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

/// ISO 8601 in UTC with all its zeros, so that text sorts as time does, of a day that there is.
void check_when(const std::string& when) {
  constexpr const char* format = "%Y-%m-%dT%H:%M:%SZ";
  std::tm parts{};
  const char* end = strptime(when.c_str(), format, &parts);
  char again[32] = "";
  if (end != nullptr && timegm(&parts) != -1) std::strftime(again, sizeof again, format, &parts);
  require(when == again,
          fmt::format("--when: '{}' is no time; write 2026-11-21T14:30:00Z, with all zeros", when));
}

/// Ratios to times of a wrong result say nothing. Throws WrongResult.
void require_right(const RecordFile& reference, const std::string& name) {
  const auto wrong =
      std::ranges::find_if(reference.records, [](const Record& r) { return !is_right(r); });
  if (wrong == reference.records.end()) return;
  throw WrongResult(fmt::format("'{}' has wrong results, the first of {}: it is no reference", name,
                                case_name(wrong->point)));
}

ChangeRule rule_of(const Settings& settings) {
  ChangeRule rule;
  rule.p = settings.fraction("p");
  rule.least_change = settings.fraction("least");
  return rule;
}

int add_job(const Settings& settings) {
  std::vector<std::string> notes;
  const RecordFile reference = read_as_records(settings.text("REFERENCE"), notes);
  const RecordFile head = read_as_records(settings.text("HEAD"), notes);
  for (const std::string& note : notes) std::cerr << "note: " << note << '\n';
  require_sound(reference, settings.text("REFERENCE"));
  require_sound(head, settings.text("HEAD"));
  require_right(reference, settings.text("REFERENCE"));
  const Comparison comparison = compare_files(reference, head, GateRule{}, false);
  require(comparison.mismatches.empty(),
          fmt::format("reference and head were not measured on one machine: {}",
                      fmt::join(comparison.mismatches, ", ")));
  const std::string& when = settings.text("when");
  if (!when.empty()) check_when(when);
  int code = exit_ok;
  for (const Verdict& verdict : comparison.verdicts) {
    if (verdict.outcome != VerdictOutcome::wrong) continue;
    std::cerr << fmt::format("collbench: left out: {}: {}\n", verdict.name, verdict.reason);
    code = exit_wrong_result;
  }
  History history(settings.text("db"), History::Use::change_or_make);
  const HistoryJob job = history.add(comparison, when.empty() ? now_utc() : when);
  std::cerr << fmt::format("collbench: job {} with {} in '{}'\n", job.id,
                           counted(job.cases, "case"), settings.text("db"));
  for (const std::string& warning : comparison.warnings) {
    std::cerr << "collbench: warning: " << warning << '\n';
  }
  return code;
}

int list_jobs(const Settings& settings) {
  const History history(settings.text("db"), History::Use::read);
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

/// "+15.2 %", and where the machine is another, too, that it is.
std::string level_change_text(const StoredSeries& series, const ChangePoint& change) {
  const std::string cpus = other_cpus(series, change);
  return percent_text(change.after / change.before) + (cpus.empty() ? "" : " (" + cpus + ")");
}

int show_case(const Settings& settings) {
  const StoredSeries series = History(settings.text("db"), History::Use::read)
                                  .series(settings.text("CASE"), rule_of(settings));
  std::cout << series.name << '\n';
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const StoredPoint& point = series.points[i];
    if (const ChangePoint* change = change_at(series, i)) {
      std::cout << fmt::format("      {:-^60}\n", " " + level_change_text(series, *change) + " ");
    }
    std::cout << fmt::format("{:>4}  {:<20}  {:<14}  {}\n", point.job.id, point.job.when,
                             point.job.revision, value_text(point));
  }
  return exit_ok;
}

int show_changes(const Settings& settings) {
  const History history(settings.text("db"), History::Use::read);
  const std::vector<std::string> names = settings.text("CASE").empty()
                                             ? history.cases()
                                             : std::vector<std::string>{settings.text("CASE")};
  int found = 0;
  for (const std::string& name : names) {
    const StoredSeries series = history.series(name, rule_of(settings));
    for (const ChangePoint& change : series.changes) {
      const HistoryJob& job = series.points[change.at].job;
      std::cout << fmt::format("{}  {}  since {} (job {})  {}\n", job.when,
                               level_change_text(series, change), job.revision, job.id, name);
      ++found;
    }
  }
  std::cerr << fmt::format("collbench: {} in {}\n", counted(found, "change"),
                           counted(std::ssize(names), "case"));
  return exit_ok;
}

int prune_jobs(const Settings& settings) {
  const int keep = settings.count("keep", 0, 1'000'000'000);
  const int gone = History(settings.text("db"), History::Use::change).prune(keep);
  std::cerr << fmt::format("collbench: {} removed\n", counted(gone, "job"));
  return exit_ok;
}

constexpr const char* where_group = "Where";
constexpr const char* changes_group = "Changes";

constexpr OptionRow database{where_group,  "db", "", "FILE", "collbench-history.sqlite",
                             "the history"};
constexpr OptionRow chance{changes_group, "p",     "",
                           "PERCENT",     "0.01%", "largest chance of a false change"};
constexpr OptionRow least_change{changes_group, "least", "",
                                 "PERCENT",     "3%",    "ignore smaller changes"};

constexpr OptionRow add_rows[] = {
    {arguments_group, "REFERENCE", "", "REFERENCE", "", "records of the pinned reference",
     Presence::required},
    {arguments_group, "HEAD", "", "HEAD", "", "records of the version, of the same job",
     Presence::required},
    database,
    {where_group, "when", "", "DATE", "", "time of the job, UTC; now if not given"},
};
constexpr OptionRow list_rows[] = {database};
constexpr OptionRow show_rows[] = {
    {arguments_group, "CASE", "", "CASE", "", "name of the case, as `history changes` shows it",
     Presence::required},
    database,
    chance,
    least_change,
};
constexpr OptionRow changes_rows[] = {
    {arguments_group, "CASE", "", "CASE", "", "only this case"}, database, chance, least_change};
constexpr OptionRow prune_rows[] = {
    database,
    {arguments_group, "keep", "", "N", "", "the latest jobs to keep", Presence::required},
};

}  // namespace

void add_history(CLI::App& app, Action& action) {
  CLI::App& history = add_command_group(
      app, "history", "keep ratios to a pinned reference over time, and find changes");
  add_command(history, "add", "add one job: records of the reference and of a version", add_rows,
              action, add_job);
  add_command(history, "list", "list the jobs in the history", list_rows, action, list_jobs);
  add_command(history, "show", "show the series of a case, with its changes", show_rows, action,
              show_case);
  add_command(history, "changes", "list where the level of a case changed", changes_rows, action,
              show_changes);
  add_command(history, "prune", "remove old jobs", prune_rows, action, prune_jobs);
}

}  // namespace collbench

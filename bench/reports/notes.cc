#include "bench/reports/notes.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/reports/last_run.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr std::size_t most_warnings = 8;

/// The different values of a property of the cases, in order of appearance.
template <typename Get>
auto distinct(const std::vector<Case>& cases, Get get) {
  std::vector<decltype(get(cases.front()))> values;
  for (const Case& point : cases) {
    const auto value = get(point);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

bool is_simulated_case(const Case& point) { return !point.simulated.topology.empty(); }

std::string backend_meaning(const Case& point) {
  const Backend* const row = backend_named(point.backend);
  if (row == nullptr) return "";
  const std::string words = point.private_buffers ? "processes, buffers of their own"
                            : point.isolate       ? row->isolated_ranks_in_words
                                                  : row->ranks_in_words;
  return words.empty() ? "" : " (" + words + ")";
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

std::string place_text(const std::vector<Case>& cases) {
  if (distinct(cases, [](const Case& c) { return c.in_place; }).size() > 1) {
    return "in and out of place";
  }
  return cases.front().in_place ? "in place" : "out of place";
}

/// "  groups=2x2  checksum=yes": what else was asked for and is the same in all cases.
std::string asked_text(const std::vector<Case>& cases) {
  std::string text;
  for (const std::string_view name : {"root", "groups", "counts", "checksum", "inject"}) {
    const Column column = table_columns({std::string(name)}, cases, false).front();
    const auto values = distinct(cases, column.words);
    if (values.size() == 1 && !values.front().empty()) {
      text += fmt::format("  {}={}", name, values.front());
    }
  }
  return text;
}

std::vector<std::string> simulated_heading(const Environment& environment,
                                           const std::vector<Case>& cases) {
  const Case& first = cases.front();
  const auto values = [&](auto get) {
    return fmt::format("{}", fmt::join(distinct(cases, get), ","));
  };
  return {fmt::format(
      "collbench {}  simulated {}  algo={}  topo={}  workers={}  dtype={}{}",
      value_of(environment, "version"),
      values([](const Case& c) { return std::string(to_string(c.collective)); }),
      values([](const Case& c) { return c.algorithm; }),
      fmt::join(distinct(cases, [](const Case& c) { return c.simulated.topology; }), "; "),
      values([](const Case& c) { return c.workers; }), to_string(first.type), asked_text(cases))};
}

// "allreduce", as benchmarks of one collective are called, or the names of several.
std::string collectives_of(const std::vector<Case>& cases) {
  return fmt::format(
      "{}", fmt::join(distinct(cases,
                               [](const Case& c) {
                                 return std::string(c.collective == CollectiveKind::all_reduce
                                                        ? "allreduce"
                                                        : to_string(c.collective));
                               }),
                      ","));
}

std::vector<std::string> run_heading(const Environment& environment,
                                     const std::vector<Case>& cases) {
  const auto backends = distinct(cases, backend_text);
  const auto workers = distinct(cases, [](const Case& c) { return c.workers; });
  const auto first_real = std::ranges::find_if_not(cases, is_simulated_case);
  if (first_real == cases.end()) return simulated_heading(environment, cases);
  std::string backend = fmt::format("{}", fmt::join(backends, ","));
  if (backends.size() == 1) backend += backend_meaning(cases.front());
  const Case& first = *first_real;
  const std::string source = first.statistic.empty() ? "" : value_of(environment, "source", "");
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("{}  {}  algo={}  backend={}  workers={}  dtype={}  op={}  {}{}",
                  source.empty() ? "collbench " + value_of(environment, "version") : source,
                  collectives_of(cases),
                  fmt::join(distinct(cases, [](const Case& c) { return c.algorithm; }), ","),
                  backend, fmt::join(workers, ","),
                  fmt::join(distinct(cases, [](const Case& c) { return to_string(c.type); }), ","),
                  fmt::join(distinct(cases, [](const Case& c) { return to_string(c.op); }), ","),
                  place_text(cases), asked_text(cases)));
  if (!first.statistic.empty()) {
    lines.push_back(fmt::format("time: the {} that the table states; it has no more of a case",
                                first.statistic));
    return lines;
  }
  const std::string cores = value_of(environment, "cores");
  lines.push_back(fmt::format("host {}: {} x {}, load {}", value_of(environment, "host"), cores,
                              value_of(environment, "cpu"),
                              first_word(value_of(environment, "load"))));
  int most = 0;
  for (const Case& point : cases) {
    if (!is_simulated_case(point)) most = std::max(most, point.workers);
  }
  if (most > small_integer_in(cores, 1).value_or(most)) {
    lines.push_back(fmt::format(
        "note: {} workers on {} cores take turns: times include scheduling, not only transfer",
        most, cores));
  }
  return lines;
}

}  // namespace

void NotedTable::begin(const Environment& environment, const std::vector<Case>& cases) {
  if (last_run_) last_run_->begin(environment);
  only_simulated_ = std::ranges::all_of(cases, is_simulated_case);
  columns_ = table_columns(style_.columns, cases, style_.unicode);
  print_heading(style_.quiet ? std::vector<std::string>() : run_heading(environment, cases));
}

void NotedTable::record(const Record& record) {
  if (style_.sort.empty()) return show(record);
  records_.push_back(record);
}

void NotedTable::end(const RunSummary& summary) {
  sort_records(records_, style_.sort);
  for (const Record& record : records_) show(record);
  if (!style_.quiet) print_closing(warning_lines(), closing(summary), summary.wrong > 0);
  out_ << std::flush;
}

void NotedTable::show(const Record& record) {
  const Row row{record, figures(record)};
  count(row);
  print_row(row, choice(record));
}

std::string NotedTable::choice(const Record& record) {
  if (!style_.reasons || record.choice_reason.empty()) return "";
  std::string text =
      fmt::format("{} on {} for {} workers is {}: {}", record.point.algorithm,
                  record.point.simulated.topology.empty() ? record.point.backend
                                                          : record.point.simulated.topology,
                  record.point.workers, record.algorithm_chosen, record.choice_reason);
  return choices_.insert(text).second ? text : "";
}

void NotedTable::count(const Row& row) {
  const Record& record = row.record;
  const Measurement& measured = record.measurement;
  standings_.add(record, row.figures);
  if (last_run_) last_run_->add(record, row.figures);
  if (measured.exact && row.figures.valid) ++exact_;
  stated_ = stated_ || !record.point.statistic.empty();
  if (row.figures.valid) ++(measured.wrong >= 0 ? checked_ : unchecked_);
  if (row.figures.valid && measured.each_checked) ++each_checked_;
  for (const std::string& warning : measured.warnings) {
    const auto known = std::find_if(warnings_.begin(), warnings_.end(),
                                    [&](const NotedWarning& w) { return w.text == warning; });
    if (known != warnings_.end()) {
      ++known->cases;
      continue;
    }
    if (warnings_.size() == most_warnings) {
      ++more_warnings_;
      continue;
    }
    warnings_.push_back({warning,
                         fmt::format("{} {} on {}", to_string(record.point.bytes),
                                     record.point.algorithm, backend_text(record.point)),
                         1});
  }
  // Simulated figures are no rivals of measured ones.
  const bool competes = is_right(record) && (only_simulated_ || !measured.exact);
  if (!competes || row.figures.busbw_GBps <= best_busbw_) return;
  best_busbw_ = row.figures.busbw_GBps;
  best_case_ = fmt::format("{} with {}, {} workers", to_string(record.point.bytes),
                           record.algorithm_chosen, record.point.workers);
}

std::vector<std::string> NotedTable::warning_lines() const {
  std::vector<std::string> lines;
  for (const NotedWarning& warning : warnings_) {
    const std::string others =
        warning.cases == 1 ? "" : fmt::format(" and {} more", warning.cases - 1);
    lines.push_back(fmt::format("{}{}: {}", warning.first_case, others, warning.text));
  }
  if (more_warnings_ > 0) lines.push_back(fmt::format("and {} more", more_warnings_));
  return lines;
}

std::string NotedTable::verdict(const RunSummary& summary) const {
  if (summary.wrong > 0) return fmt::format("{} WRONG", summary.wrong);
  if (checked_ == 0 && exact_ > 0 && exact_ == unchecked_)
    return "simulated times, equal on every machine";
  if (checked_ == 0) return "results not checked";
  const std::string right = unchecked_ == 0 ? "all results correct" : "all checked results correct";
  if (stated_) return right;
  return right + (each_checked_ == checked_ ? " (every iteration)" : " (before and after timing)");
}

std::vector<std::string> NotedTable::closing(const RunSummary& summary) const {
  std::string line =
      fmt::format("{}, {:.1f} s", counted(summary.measured, "case"), summary.elapsed.count());
  if (summary.skipped > 0) line += fmt::format(", {} skipped", summary.skipped);
  line += ", " + verdict(summary);
  if (best_busbw_ > 0) {
    line += fmt::format(". best busbw {} GB/s at {}", significant(best_busbw_, 3), best_case_);
  }
  std::vector<std::string> lines{line};
  if (!summary.stopped_by.empty() || !summary.failure.empty()) {
    lines.push_back(fmt::format("ended early after {} of {} cases: {}",
                                summary.measured + summary.skipped, summary.planned,
                                summary.stopped_by.empty() ? summary.failure : summary.stopped_by));
  }
  std::vector<std::string> answers = standings_.lines(style_.unicode);
  if (!machines_differ_.empty() && !answers.empty()) {
    answers = {
        fmt::format("of different machines, so none is called the fastest: {}", machines_differ_)};
  }
  for (std::string& answer : answers) lines.push_back(std::move(answer));
  if (last_run_) {
    for (std::string& change : last_run_->lines()) lines.push_back(std::move(change));
  }
  return lines;
}

}  // namespace collbench

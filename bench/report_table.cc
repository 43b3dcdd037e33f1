// The table for people. Widths are fixed before the first row, from the cases, because rows are
// printed as they are measured.
#include <algorithm>
#include <ostream>
#include <set>

#include <fmt/format.h>

#include "bench/report.h"
#include "bench/report_text.h"

namespace collbench {
namespace {

constexpr std::size_t most_warnings = 8;

/// One column: its two heading lines, its width, and its text for a record.
struct Column {
  std::string heading;
  std::string unit;
  std::size_t width;
  bool left = false;
};

/// The different values of a property of the cases, in order of appearance.
template <typename Get>
auto distinct(const std::vector<Case>& cases, Get get) {
  std::vector<decltype(get(cases.front()))> values;
  for (const Case& which : cases) {
    const auto value = get(which);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

bool has_auto(const std::vector<std::string>& algorithms) {
  return std::find(algorithms.begin(), algorithms.end(), "auto") != algorithms.end();
}

std::string backend_text(const Case& which) {
  if (which.backend == "shm" && which.private_buffers) return "shm-private";
  if (which.backend == "shm" && which.isolate) return "shm-processes";
  if (which.backend == "grpc" && which.transport != "raw") return "grpc-" + which.transport;
  return which.backend;
}

std::string_view backend_meaning(const std::string& text) {
  if (text == "shm") return " (threads of one process)";
  if (text == "shm-processes") return " (processes over shared memory)";
  if (text == "shm-private") return " (processes, buffers of their own)";
  if (text == "grpc") return " (one process per worker)";
  return "";
}

std::string environment_value(const Environment& environment, const std::string& key) {
  const auto found = environment.find(key);
  return found == environment.end() ? "unknown" : found->second;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

class TableReporter final : public Reporter {
 public:
  TableReporter(std::ostream& out, TableStyle style) : out_(out), style_(style) {}

  void begin(const Environment& environment, const std::vector<Case>& cases) override {
    choose_columns(cases);
    if (!style_.quiet) print_heading(environment, cases);
    std::string names = "#";
    std::string units = "#";
    bool first = true;
    for (const Column& column : columns_) {
      names += cell(column, column.heading, first);
      units += cell(column, column.unit, first);
      first = false;
    }
    out_ << names << '\n' << units << '\n' << std::flush;
  }

  void record(const Record& record) override {
    print_choice(record);
    std::string row = " ";
    bool first = true;
    const std::vector<std::string> texts = cells(record);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      row += cell(columns_[i], texts[i], first);
      first = false;
    }
    if (!record.skipped.empty()) row += "  skipped: " + record.skipped;
    note_warnings(record);
    if (!record.measurement.warnings.empty()) row += " !";
    out_ << (is_right(record) ? row : painted(row, "31")) << '\n' << std::flush;
    const Figures shown = figures(record);
    if (shown.busbw_GBps > best_busbw_) {
      best_busbw_ = shown.busbw_GBps;
      best_case_ = fmt::format("{} with {}, {} workers", to_string(record.which.bytes),
                               record.algorithm_chosen, record.which.workers);
    }
  }

  void end(const RunSummary& summary) override {
    if (style_.quiet) return;
    for (const std::string& warning : warnings_) out_ << "# ! " << warning << '\n';
    if (warning_count_ > warnings_.size()) {
      out_ << fmt::format("# ! and {} more\n", warning_count_ - warnings_.size());
    }
    std::string line = fmt::format("# {} case{}, {:.1f} s", summary.measured,
                                   summary.measured == 1 ? "" : "s", summary.elapsed.count());
    if (summary.skipped > 0) line += fmt::format(", {} skipped", summary.skipped);
    line += summary.wrong > 0 ? fmt::format(", {} WRONG", summary.wrong) : right_text();
    if (best_busbw_ > 0) {
      line += fmt::format(". best busbw {} GB/s at {}", significant(best_busbw_, 3), best_case_);
    }
    out_ << (summary.wrong > 0 ? painted(line, "31") : line) << '\n';
    if (!summary.stopped_by.empty() || !summary.failure.empty()) {
      out_ << fmt::format("# ended early after {} of {} cases: {}\n",
                          summary.measured + summary.skipped, summary.planned,
                          summary.stopped_by.empty() ? summary.failure : summary.stopped_by);
    }
    out_ << std::flush;
  }

 private:
  std::string right_text() const {
    if (checked_ == 0) return ", results not checked";
    return unchecked_ == 0 ? ", all results correct" : ", all checked results correct";
  }

  std::string painted(const std::string& text, std::string_view colour) const {
    return style_.colour ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
  }

  static std::string cell(const Column& column, std::string_view text, bool first) {
    const std::string gap = first ? "" : "  ";
    return gap + (column.left ? align_left(text, column.width) : align_right(text, column.width));
  }

  void choose_columns(const std::vector<Case>& cases) {
    const auto algorithms = distinct(cases, [](const Case& c) { return c.algorithm; });
    const auto backends = distinct(cases, backend_text);
    show_algorithm_ = algorithms.size() > 1 || has_auto(algorithms);
    show_backend_ = backends.size() > 1;
    show_workers_ = distinct(cases, [](const Case& c) { return c.workers; }).size() > 1;
    show_place_ = distinct(cases, [](const Case& c) { return c.in_place; }).size() > 1;
    const auto width_of = [](const std::vector<std::string>& texts, std::size_t least) {
      for (const std::string& text : texts) least = std::max(least, text.size());
      return least;
    };
    const std::string micro = style_.unicode ? "(µs)" : "(us)";
    if (show_algorithm_) {
      const std::size_t least = has_auto(algorithms) ? 22 : 9;
      columns_.push_back({"algorithm", "", width_of(algorithms, least), true});
    }
    if (show_backend_) columns_.push_back({"backend", "", width_of(backends, 7), true});
    if (show_workers_) columns_.push_back({"workers", "", 7});
    if (show_place_) columns_.push_back({"place", "", 5, true});
    for (const Column& column :
         {Column{"size", "", 9}, Column{"count", "", 10}, Column{"p50", micro, 9},
          Column{style_.unicode ? "±95%" : "+-95%", "(%)", 5}, Column{"p95", micro, 9},
          Column{"algbw", "(GB/s)", 8}, Column{"busbw", "(GB/s)", 8}, Column{"bound", micro, 9},
          Column{"bound", "(%)", 5}, Column{"wrong", "", 5}}) {
      columns_.push_back(column);
    }
  }

  std::vector<std::string> cells(const Record& record) {
    const Case& which = record.which;
    std::vector<std::string> out;
    if (show_algorithm_) {
      const bool chosen = which.algorithm == "auto";
      out.push_back(chosen ? "auto: " + record.algorithm_chosen : which.algorithm);
    }
    if (show_backend_) out.push_back(backend_text(which));
    if (show_workers_) out.push_back(std::to_string(which.workers));
    if (show_place_) out.emplace_back(which.in_place ? "in" : "out");
    out.push_back(to_string(which.bytes));
    out.push_back(std::to_string(element_count(which)));
    const Figures shown = figures(record);
    if (!shown.valid) {
      out.resize(columns_.size(), "-");
      return out;
    }
    out.push_back(significant(shown.median_us));
    out.push_back(fmt::format("{:.1f}", shown.interval_percent));
    out.push_back(significant(shown.p95_us));
    out.push_back(significant(shown.algbw_GBps));
    out.push_back(significant(shown.busbw_GBps));
    const double bound_us = record.bound ? record.bound->time.count() * 1e6 : 0;
    out.push_back(bound_us > 0 ? significant(bound_us) : "-");
    out.push_back(bound_us > 0 && shown.median_us > 0
                      ? fmt::format("{:.0f}", 100 * bound_us / shown.median_us)
                      : "-");
    const bool checked = record.measurement.wrong >= 0;
    ++(checked ? checked_ : unchecked_);
    const bool differs = checked && !record.measurement.replicas_identical;
    out.push_back(differs ? "differ" : checked ? std::to_string(record.measurement.wrong) : "-");
    return out;
  }

  void print_heading(const Environment& environment, const std::vector<Case>& cases) {
    const auto algorithms = distinct(cases, [](const Case& c) { return c.algorithm; });
    const auto backends = distinct(cases, backend_text);
    const auto workers = distinct(cases, [](const Case& c) { return c.workers; });
    std::string backend = fmt::format("{}", fmt::join(backends, ","));
    if (backends.size() == 1) backend += backend_meaning(*backends.begin());
    const Case& first = cases.front();
    out_ << fmt::format(
        "# collbench {}  allreduce  algo={}  backend={}  workers={}  dtype={}  op={}  {}\n",
        environment_value(environment, "version"), fmt::join(algorithms, ","), backend,
        fmt::join(workers, ","), to_string(first.type), to_string(first.op),
        show_place_ ? "in and out of place" : (first.in_place ? "in place" : "out of place"));
    const std::string cores = environment_value(environment, "cores");
    std::string host = fmt::format(
        "# host {}: {} x {}, load {}", environment_value(environment, "host"), cores,
        environment_value(environment, "cpu"), first_word(environment_value(environment, "load")));
    out_ << host << '\n';
    const int most = *std::max_element(workers.begin(), workers.end());
    if (std::all_of(cores.begin(), cores.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
        cores.size() < 9 && !cores.empty() && most > std::stoi(cores)) {
      out_ << fmt::format(
          "# note: {} workers on {} cores take turns: times include scheduling, not only "
          "transfer\n",
          most, cores);
    }
  }

  void print_choice(const Record& record) {
    if (style_.quiet || record.choice_reason.empty()) return;
    const std::string choice =
        fmt::format("auto on {} for {} workers is {}: {}", record.which.backend,
                    record.which.workers, record.algorithm_chosen, record.choice_reason);
    if (choices_.insert(choice).second) out_ << "# " << choice << '\n';
  }

  void note_warnings(const Record& record) {
    for (const std::string& warning : record.measurement.warnings) {
      ++warning_count_;
      if (warnings_.size() < most_warnings) {
        warnings_.push_back(fmt::format("{} {} on {}: {}", to_string(record.which.bytes),
                                        record.which.algorithm, backend_text(record.which),
                                        warning));
      }
    }
  }

  std::ostream& out_;
  TableStyle style_;
  std::vector<Column> columns_;
  bool show_algorithm_ = false;
  bool show_backend_ = false;
  bool show_workers_ = false;
  bool show_place_ = false;
  std::set<std::string> choices_;
  std::vector<std::string> warnings_;
  std::size_t warning_count_ = 0;
  int checked_ = 0;
  int unchecked_ = 0;
  double best_busbw_ = 0;
  std::string best_case_;
};

}  // namespace

std::unique_ptr<Reporter> table_reporter(std::ostream& out, TableStyle style) {
  return std::make_unique<TableReporter>(out, style);
}

}  // namespace collbench

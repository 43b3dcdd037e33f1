// `collbench report`: records and comparisons that were made before, in every form that people and
// programs read.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/measure/case_filter.h"
#include "bench/reports/diagnosis_report.h"
#include "bench/reports/formats.h"
#include "bench/reports/html_report.h"
#include "bench/reports/replay.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"
#include "bench/verdicts/compare.h"
#include "bench/verdicts/history.h"
#include "bench/verdicts/verdict_json.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/external_program.h"
#include "cli/gate_options.h"
#include "cli/output_file.h"
#include "cli/reporters.h"
#include "cli/settings.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/plain_text.h"
#include "heuristics/diagnosis/table_cases.h"

namespace collbench {
namespace {

constexpr const char* files_group = "Files";
constexpr const char* shape_group = "What";
constexpr const char* pictures[] = {"plot", "winners"};

constexpr OptionRow input_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "",
     "records, a comparison, foreign tables, traces or links of simulate", Presence::required},
};

constexpr OptionRow shape_rows[] = {
    {files_group, "plot", "", "FILE", "", "plot drawn by gnuplot: .svg, .png, .pdf; - for text"},
    {files_group, "winners", "", "FILE", "",
     "map of the fastest by size and workers, drawn likewise"},

    {shape_group, "format", "", "NAME", "", "a format on standard output [table]"},
    {shape_group, "filter", "F", "EXPR", "",
     "only matching cases: 'algo:ring bytes>=1M workers:(4|8)'"},
    {shape_group, "history", "", "FILE", "", "for the page: a file of `collbench history`"},
    {shape_group, "topo", "t", "SPEC", "",
     "for the page: show simulated cases of this network beside measured ones"},
    {shape_group, "repository", "", "URL", "",
     "for the page: link revisions to URL/commit/REVISION; default: what CI names"},
    {shape_group, "columns", "", "NAME[,..]", "", "columns of the table"},
    {shape_group, "sort", "", "NAME[,..]", "", "sort rows by these columns; -busbw: largest first"},
    {shape_group, "title", "", "TEXT", "", "heading of the page"},
    {shape_group, "color", "", "WHEN", "auto", "auto, always or never"},
    {shape_group, "raw-samples", "", "", "", "CSV has a row per sample"},
    {shape_group, "quiet", "q", "", "", "rows and headings of tables only; no annotations"},
};

std::span<const OptionRow> report_rows() {
  static const std::vector<OptionRow> rows = concatenated(
      {input_rows, file_rows(files_group, FormatsOf::records_and_comparisons), shape_rows});
  return rows;
}

/// What is read: files of records, of comparisons, tables of other benchmarks, and what simulations
/// left beside their records (traces, tables of links).
struct ReportInputs : HtmlReport {
  std::optional<Comparison> compared;
  std::vector<std::string> left_out;  // of tables, and files that are none

  /// The records of all files, in their order.
  std::vector<Record> records() const {
    std::vector<Record> all;
    for (const ReportSource& source : sources) {
      all.insert(all.end(), source.file.records.begin(), source.file.records.end());
    }
    return all;
  }

  /// That of all files, whose values may differ.
  Environment environment() const {
    Environment all;
    for (const ReportSource& source : sources) add_environment(source.file.environment, all);
    return all;
  }
};

/// Whether JSON has a key of that name; a text of that name is followed by no colon.
bool has_key(std::string_view text, std::string_view name) {
  const std::string quoted = fmt::format("\"{}\"", name);
  for (std::size_t at = text.find(quoted); at != text.npos; at = text.find(quoted, at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != text.npos && text[next] == ':') return true;
  }
  return false;
}

/// A comparison is the only object here with verdicts; they stand before a megabyte of samples.
bool is_comparison(const std::string& text) {
  return text.starts_with('{') && has_key(text, "verdicts") && !has_key(text, "records");
}

void add_table(const MeasuredTable& table, ReportInputs& inputs) {
  const std::string name = std::filesystem::path(table.name).filename().string();
  inputs.sources.push_back({name, to_records(table)});
  std::ranges::copy(table.notes, std::back_inserter(inputs.left_out));
  for (Diagnosis& each : diagnoses_where_known(table)) inputs.diagnoses.push_back(std::move(each));
}

/// Tables of other benchmarks; `path` may end in hints.
void add_tables(const std::string& path, ReportInputs& inputs) {
  std::vector<std::string> skipped;
  const std::vector<MeasuredTable> tables = read_tables(path, skipped);
  require(!tables.empty(), no_table_text(skipped));
  for (const MeasuredTable& table : tables) add_table(table, inputs);
  for (const std::string& reason : skipped) inputs.left_out.push_back("left out: " + reason);
}

/// A table of links is the network of the trace before it, if its hosts are there.
void add_links(const Replay& links, std::vector<Replay>& replays) {
  const bool joins =
      !replays.empty() && replays.back().links.empty() && belong_together(replays.back(), links);
  if (joins) {
    replays.back() = joined(std::move(replays.back()), links);
  } else {
    replays.push_back(links);
  }
}

/// Reads each file as what it holds. Throws Unavailable for one that cannot be read and
/// InvalidArgument, naming the file, for one that is nothing of all that, and for a second
/// comparison.
ReportInputs read_report_inputs(const std::vector<std::string>& files) {
  ReportInputs inputs;
  inputs.title = "collbench report";
  for (const std::string& path : files) {
    // What is not there may be a file with hints: "job.txt,ranks=16".
    const bool is_file = names_a_file(path);
    const std::string text = is_file ? read_file(path) : "";  // once: a pipe has it only once
    const std::string name = std::filesystem::path(path).filename().string();
    try {
      if (is_comparison(text)) {
        require(!inputs.compared, "a second comparison; a report shows one");
        inputs.compared = comparison_from_json(text);
      } else if (is_trace(text)) {
        inputs.replays.push_back(trace_from_json(text, name));
      } else if (is_link_table(text)) {
        add_links(links_from_csv(text, name), inputs.replays);
      } else if (is_file && foreign_format(text) == "collbench") {
        inputs.sources.push_back({name, records_from_json(text)});
      } else if (is_file) {
        add_table(read_foreign(text, path), inputs);
      } else {
        add_tables(path, inputs);
      }
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(about_file(path, error.what()));
    }
  }
  return inputs;
}

/// Every case of a history that `collbench history` keeps, with its change points.
std::vector<StoredSeries> read_history(const std::string& path) {
  const History history(path, History::Use::read);
  std::vector<StoredSeries> all;
  for (const std::string& name : history.cases()) {
    all.push_back(history.series(name, ChangeRule{}));
  }
  return all;
}

/// Keeps the records whose cases match a filter of bench/measure/case_filter.h.
void keep_matching(ReportInputs& inputs, const std::string& filter) {
  if (filter.empty()) return;
  const std::vector<FilterTerm> terms = parse_filter(filter);
  for (ReportSource& source : inputs.sources) {
    std::erase_if(source.file.records,
                  [&](const Record& record) { return !matches(terms, record.point); });
  }
}

/// Sampling is not in records: what nccl-tests' heading says of it is taken from the first one.
Sampling sampling_of(const ReportInputs& inputs) {
  Sampling sampling;
  for (const Record& record : inputs.records()) {
    sampling.iterations = static_cast<int>(record.measurement.latency_ns.size());
    sampling.check = record.measurement.wrong >= 0;
    if (sampling.iterations > 0) break;
  }
  return sampling;
}

void write_page(std::ostream& out, const ReportInputs& inputs) {
  constexpr std::size_t most_replays = 6;
  HtmlReport report = inputs;
  const std::vector<Replay> again = replays_of(inputs.records(), most_replays, report.notes);
  report.replays.insert(report.replays.end(), again.begin(), again.end());
  report.comparison = inputs.compared ? &*inputs.compared : nullptr;
  write_html(out, report);
}

/// "# rows 1 to 4 are of base.jsonl, 5 to 8 of head.jsonl": a row does not say its file.
std::string rows_of_files(const ReportInputs& inputs) {
  std::string line;
  std::size_t row = 0;
  for (const ReportSource& source : inputs.sources) {
    const std::size_t first = row + 1;
    row += source.file.records.size();
    if (row < first) continue;
    const std::string rows =
        row == first ? fmt::format("{}", row) : fmt::format("{} to {}", first, row);
    line += fmt::format("{}{}{} of {}", line.empty() ? "# rows " : ", ", rows,
                        line.empty() ? " are" : "", printable(source.name));
  }
  return line + "\n";
}

void write_records(const ReportFormat& format, std::ostream& out, const ReportInputs& inputs,
                   FormatOptions options) {
  const TableStyle& style = options.style;
  const bool tells_files = format.name == "table" && !style.quiet && style.sort.empty();
  if (tells_files && inputs.sources.size() > 1) out << rows_of_files(inputs);
  options.sampling = sampling_of(inputs);
  options.machines_differ = machines_differ(inputs);
  std::ostringstream text;
  const std::unique_ptr<Reporter> reporter = format.records(text, options);
  show_records({reporter.get()}, inputs.environment(), inputs.records());
  // A comment on a pull request has a limit.
  out << (format.name == "markdown" ? fitted_markdown(text.str(), most_comment_bytes) : text.str());
}

void write_format(const ReportFormat& format, std::ostream& out, const ReportInputs& inputs,
                  const FormatOptions& options) {
  if (format.records == nullptr) {
    write_page(out, inputs);
  } else if (inputs.compared && format.comparison != nullptr) {
    format.comparison(out, *inputs.compared, options.style);
  } else {
    require(!inputs.sources.empty(),
            fmt::format("{} is of records, and {}", format.name,
                        inputs.compared ? "only a comparison was given"
                                        : "none were given; --html shows traces and links"));
    write_records(format, out, inputs, options);
  }
  out << std::flush;
}

/// Writes the files, then standard output. Throws Unavailable or Error naming the file, and
/// InvalidArgument if there is nothing to show in a format.
void write_reports(const Outputs& outputs, const ReportInputs& inputs) {
  const auto write = [&](const std::string& name, const std::string& path) {
    const ReportFormat& format = report_format("--format", name);
    write_output(path,
                 [&](std::ostream& out) { write_format(format, out, inputs, outputs.options); });
  };
  for (const auto& [name, path] : outputs.files) write(name, path);
  if (!outputs.console.empty()) write(outputs.console, "-");
}

/// Says on standard error what is not shown of the tables, and warns of those from an unhealthy
/// system, whose figures say little else.
void warn_of_tables(const ReportInputs& inputs) {
  for (const std::string& note : inputs.left_out) std::cerr << "note: " << note << '\n';
  if (const std::string what = machines_differ(inputs); !what.empty()) {
    std::cerr << "note: records of different machines: " << what << '\n';
  }
  for (const Diagnosis& each : inputs.diagnoses) {
    if (needs_hint(each)) std::cerr << "note: " << diagnosis_hint(each) << '\n';
  }
}

/// Under GitHub Actions: annotations of the comparison and of wrong results, to standard error.
void annotate(const ReportInputs& inputs) {
  if (!under_github_actions()) return;
  if (inputs.compared) write_annotations(std::cerr, *inputs.compared);
  write_annotations(std::cerr, inputs.records());
}

/// Draws the records with gnuplot, for `option`; "-" is a picture of characters on standard output,
/// and a name that ends in ".gp" is gnuplot's input. Throws Unavailable if gnuplot is not
/// installed.
void write_plot(const char* option, const std::string& path, const ReportInputs& inputs) {
  const auto draw = [&](std::ostream& out, const std::string& picture) {
    if (std::string_view(option) == "plot") {
      write_gnuplot(out, inputs.records(), picture);
    } else {
      write_winner_map(out, inputs.records(), picture, !machines_differ(inputs).empty());
    }
  };
  if (path.ends_with(".gp")) {
    const std::string picture = path.substr(0, path.size() - 3) + ".svg";
    write_output(path, [&](std::ostream& out) { draw(out, picture); });
    return;
  }
  std::ostringstream script;
  draw(script, path);
  const std::string instead = fmt::format("--{} FILE.gp writes what it would read", option);
  const std::string picture = run_external({"gnuplot", "gnuplot-nox", instead}, script.str());
  write_output("-", [&](std::ostream& out) { out << picture; });
}

/// The repository that revisions are of: as given, else as GitHub's or GitLab's CI says it.
std::string repository_of(const Settings& settings) {
  std::string url = settings.text("repository");
  if (!settings.given("repository")) {
    const std::string server = environment_variable("GITHUB_SERVER_URL");
    const std::string name = environment_variable("GITHUB_REPOSITORY");
    url = server.empty() || name.empty() ? environment_variable("CI_PROJECT_URL")
                                         : server + "/" + name;
    // What another program says wrongly costs the links and no more.
    if (!url.starts_with("https://") && !url.starts_with("http://")) return "";
  }
  require(url.empty() || url.starts_with("https://") || url.starts_with("http://"),
          fmt::format("--repository: '{}' is no http or https URL, such as "
                      "https://github.com/user/project",
                      url));
  while (url.ends_with('/')) url.pop_back();
  return url;
}

/// Throws InvalidArgument, naming those there are, if no simulated case is of the network.
void require_network(const std::string& network, const std::vector<Record>& records) {
  if (network.empty()) return;
  std::set<std::string> known;
  for (const Record& record : records) known.insert(record.point.simulated.topology);
  known.erase("");
  require(known.contains(network),
          fmt::format("--topo: no simulated case is of '{}'; there are: {}", network,
                      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

/// Options of a page that is not written, and of records where there are none, are without effect.
void disregard_unused(const Settings& settings, const Outputs& outputs,
                      const ReportInputs& inputs) {
  const bool has_page = outputs.console == "html" || outputs.files.contains("html");
  for (const char* option : {"history", "topo", "repository", "title"}) {
    if (!has_page) settings.disregard(option);
  }
  if (inputs.sources.empty()) settings.disregard("filter");
}

int report_command(const Settings& settings) {
  Outputs outputs = outputs_of(settings, report_format_names());
  bool draws = false;
  for (const char* option : pictures) {
    draws |= settings.given(option);
  }
  if (outputs.console.empty() && outputs.files.empty() && !draws) outputs.console = "table";
  ReportInputs inputs = read_report_inputs(settings.words("FILE"));
  keep_matching(inputs, settings.text("filter"));
  if (settings.given("title")) inputs.title = settings.text("title");
  inputs.repository = repository_of(settings);
  inputs.network = settings.text("topo");
  require_network(inputs.network, inputs.records());
  if (settings.given("history")) inputs.history = read_history(settings.text("history"));
  write_reports(outputs, inputs);
  for (const char* option : pictures) {
    if (settings.given(option)) write_plot(option, settings.text(option), inputs);
  }
  if (!settings.flag("quiet")) {
    warn_of_tables(inputs);
    annotate(inputs);
  }
  disregard_unused(settings, outputs, inputs);
  const std::vector<Record> records = inputs.records();
  const auto wrong = std::ranges::count_if(records, [](const Record& r) { return !is_right(r); });
  if (wrong > 0) {
    throw WrongResult(fmt::format("{} of {} cases gave a wrong result", wrong, records.size()));
  }
  const int judged = inputs.compared ? count(*inputs.compared, VerdictOutcome::wrong) : 0;
  if (judged > 0) {
    throw WrongResult(fmt::format("{} of {} cases of the comparison gave a wrong result", judged,
                                  inputs.compared->verdicts.size()));
  }
  return exit_ok;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  add_command(app, "report", "show records and comparisons: HTML, Markdown, JUnit and more",
              report_rows(), action, report_command);
}

}  // namespace collbench

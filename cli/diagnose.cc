// `collbench diagnose`: whether a measured table is what its hardware should reach, and if not,
// why.
#include <algorithm>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/reports/diagnosis_report.h"
#include "bench/reports/html_report.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/measured_files.h"
#include "cli/output_file.h"
#include "core/error.h"
#include "heuristics/diagnosis/table_cases.h"

namespace collbench {
namespace {

constexpr OptionRow diagnose_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "",
     "tables of nccl-tests, OSU, IMB or ours, or folders of them; FILE,ranks=16,nodes=2 adds what "
     "a "
     "table does not say",
     Presence::required},
    {options_group, "topo", "t", "NAME", "",
     "the machine, as cluster:2xdgx-h100 or a file of calibrate [what the table says of its GPUs]"},
    {options_group, "healthy", "", "FILE", "",
     "a table of the same system when healthy: its times are the expectation"},
    {output_group, "format", "", "NAME", "text", "text, json, csv or markdown"},
    {output_group, "json", "", "", "", "short for --format json"},
    {output_group, "html", "", "FILE", "", "a page that works offline, with a drawing"},
    {output_group, "output", "o", "FILE", "-", "write it here; -: standard output"},
};

using WriteDiagnoses = void(std::ostream& out, const std::vector<Diagnosis>& diagnoses);

WriteDiagnoses* writer_of(const Settings& settings) {
  const std::string format = settings.format_of({"text", "json", "csv", "markdown"});
  if (format == "json") return write_diagnoses_json;
  if (format == "csv") return write_diagnoses_csv;
  return format == "markdown" ? write_diagnoses_markdown : write_diagnoses;
}

struct JudgedTables {
  std::vector<Diagnosis> diagnoses;
  std::vector<ReportSource> sources;
  std::vector<std::string> notes;
  bool is_wrong = false;  // a row has a wrong result
};

void judge_path(const std::string& path, const Settings& settings,
                const std::optional<MeasuredTable>& reference, JudgedTables& judged) {
  for (const MeasuredTable& table : read_measured_files({path})) {
    for (DiagnosisCase& each : diagnosis_cases(table, settings.text("topo"), judged.notes)) {
      if (reference) judge_by_healthy(each, *reference);
      judged.diagnoses.push_back(diagnose_on_any(each));
    }
    judged.is_wrong |= std::any_of(table.times.begin(), table.times.end(),
                                   [](const MeasuredTime& row) { return row.is_wrong(); });
    judged.sources.push_back({table.name, to_records(table)});
  }
}

/// What is wrong with a file concerns the others as little as one of a folder; with all of them, or
/// the only one, it is the answer.
JudgedTables judge_paths(const Settings& settings, const std::optional<MeasuredTable>& reference,
                         int& unjudged) {
  JudgedTables judged;
  const std::vector<std::string> paths = settings.words("FILE");
  const auto leave_out = [&](const Error& error) {
    judged.notes.push_back(fmt::format("not judged: {}", error.what()));
    return ++unjudged < std::ssize(paths);
  };
  for (const std::string& path : paths) {
    try {
      judge_path(path, settings, reference, judged);
    } catch (const InvalidArgument& error) {
      if (!leave_out(error)) throw;
    } catch (const WrongResult& error) {
      if (!leave_out(error)) throw;
      judged.is_wrong = true;
    }
  }
  return judged;
}

int diagnose_tables(const Settings& settings) {
  WriteDiagnoses* const write = writer_of(settings);
  HtmlReport page;
  std::optional<MeasuredTable> reference;
  if (settings.given("healthy")) {
    std::vector<MeasuredTable> healthy = read_measured_files({settings.text("healthy")});
    require(healthy.size() == 1,
            fmt::format("{}: '{}' holds {} tables; name one of them", settings.label("healthy"),
                        settings.text("healthy"), healthy.size()));
    reference = std::move(healthy.front());
  }
  int unjudged = 0;
  JudgedTables judged = judge_paths(settings, reference, unjudged);
  const std::vector<Diagnosis>& diagnoses = judged.diagnoses;
  page.sources = std::move(judged.sources);
  for (const std::string& note : judged.notes) std::cerr << "note: " << note << '\n';
  write_output(settings.text("output"), [&](std::ostream& out) { write(out, diagnoses); });
  page.title = "collbench diagnose";
  page.diagnoses = diagnoses;
  write_output(settings.text("html"), [&](std::ostream& out) { write_html(out, page); });
  if (judged.is_wrong) return exit_wrong_result;
  const std::string_view verdict = verdict_of_all(diagnoses);
  if (verdict == "undecided" || (verdict == "healthy" && unjudged > 0)) return exit_undecided;
  return verdict == "healthy" ? exit_ok : exit_gate_failed;
}

}  // namespace

void add_diagnose(CLI::App& app, Action& action) {
  add_command(app, "diagnose", "judge measured tables by their hardware, and say what is wrong",
              diagnose_rows, action, diagnose_tables);
}

}  // namespace collbench

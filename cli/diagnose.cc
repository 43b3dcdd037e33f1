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

int diagnose_tables(const Settings& settings) {
  WriteDiagnoses* const write = writer_of(settings);
  std::vector<std::string> notes;
  std::vector<Diagnosis> diagnoses;
  HtmlReport page;
  std::optional<MeasuredTable> reference;
  if (settings.given("healthy")) {
    std::vector<MeasuredTable> healthy = read_measured_files({settings.text("healthy")});
    require(healthy.size() == 1,
            fmt::format("{}: '{}' holds {} tables; name one of them", settings.label("healthy"),
                        settings.text("healthy"), healthy.size()));
    reference = std::move(healthy.front());
  }
  bool is_wrong = false;
  for (const MeasuredTable& table : read_measured_files(settings.words("FILE"))) {
    for (DiagnosisCase& each : diagnosis_cases(table, settings.text("topo"), notes)) {
      if (reference) judge_by_healthy(each, *reference);
      diagnoses.push_back(diagnose_on_any(each));
    }
    is_wrong |= std::any_of(table.times.begin(), table.times.end(),
                            [](const MeasuredTime& row) { return row.is_wrong(); });
    page.sources.push_back({table.name, to_records(table)});
  }
  for (const std::string& note : notes) std::cerr << "note: " << note << '\n';
  write_output(settings.text("output"), [&](std::ostream& out) { write(out, diagnoses); });
  page.title = "collbench diagnose";
  page.diagnoses = diagnoses;
  write_output(settings.text("html"), [&](std::ostream& out) { write_html(out, page); });
  if (is_wrong) return exit_wrong_result;
  const std::string_view verdict = verdict_of_all(diagnoses);
  if (verdict == "undecided") return exit_undecided;
  return verdict == "healthy" ? exit_ok : exit_gate_failed;
}

}  // namespace

void add_diagnose(CLI::App& app, Action& action) {
  add_command(app, "diagnose", "judge measured tables by their hardware, and say what is wrong",
              diagnose_rows, action, diagnose_tables);
}

}  // namespace collbench

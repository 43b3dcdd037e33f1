#include "cli/gate_options.h"

#include <algorithm>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "bench/reports/report_verdicts.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/reporters.h"
#include "cli/terminal.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/stop_request.h"

namespace collbench {
namespace {

constexpr std::size_t most_failures_told = 20;  // worst first; the table has all

constexpr OptionRow gate_rows[] = {
    {verdicts_group, "threshold", "", "PERCENT", "5%", "ignore smaller changes"},
    {verdicts_group, "threshold-for", "", "FILTER=PERCENT[,..]", "",
     "another threshold for some cases: 'bytes<=4K=20%'"},
    {verdicts_group, "alpha", "", "PERCENT", "1%", "chance of any false alarm in the comparison"},
    {verdicts_group, "fail-on", "", "OUTCOME[,..]", "wrong,slower,missing,changed,exact",
     "exit 1 on these outcomes, or none"},
    {verdicts_group, "title", "", "TEXT", "", "title of the reports"},
    {verdicts_group, "color", "", "WHEN", "auto", "auto, always, never"},
    {verdicts_group, "quiet", "q", "", "", "no table, only what fails"},
};

void write_comparison(const Comparison& comparison, const Outputs& outputs) {
  const auto write = [&](const std::string& name, const std::string& path) {
    const ReportFormat& format = report_format("--format", name);
    write_output(path, [&](std::ostream& out) { format.comparison(out, comparison, {}); });
  };
  for (const auto& [name, path] : outputs.files) write(name, path);
  if (!outputs.console.empty()) write(outputs.console, "-");
  if (!under_github_actions()) return;
  write_annotations(std::cerr, comparison);
  // Other steps write there too, so it is appended to.
  const std::string summary = environment_variable("GITHUB_STEP_SUMMARY");
  if (summary.empty()) return;
  std::ofstream out(summary, std::ios::app);
  write_markdown(out, comparison, most_summary_bytes);
  out.close();
  if (!out) throw Error(fmt::format("could not write '{}'", summary));
}

/// "bytes<=4K=20%": the last sign of equality separates cases from threshold.
CaseThreshold case_threshold(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  require(
      equals != std::string::npos && equals > 0 &&
          std::string("<>").find(text[equals - 1]) == std::string::npos,
      fmt::format("--threshold-for: '{}' is not FILTER=PERCENT, such as 'bytes<=4K=20%'", text));
  CaseThreshold one;
  one.filter = text.substr(0, equals);
  one.terms = parse_filter(one.filter);
  one.threshold = parse_fraction("--threshold-for", text.substr(equals + 1));
  return one;
}

}  // namespace

std::span<const OptionRow> gate_option_rows() {
  static const std::vector<OptionRow> rows =
      concatenated({gate_rows, file_rows(output_group, FormatsOf::comparisons)});
  return rows;
}

bool under_github_actions() { return environment_variable("GITHUB_ACTIONS") == "true"; }

GateRule gate_rule_of(const Settings& settings) {
  named_outputs(settings, report_format_names());  // refused before anything is measured
  GateRule rule;
  rule.threshold = settings.fraction("threshold");
  rule.alpha = settings.fraction("alpha");
  require(rule.threshold < 10, "--threshold must be below 1000%");
  for (const std::string& text : settings.list("threshold-for")) {
    rule.exceptions.push_back(case_threshold(text));
  }
  require(rule.alpha < 0.5, "--alpha must be below 50%");
  rule.fail_on.clear();
  rule.fail_on_exact = false;
  if (settings.text("fail-on") == "none") return rule;
  for (const std::string& name : settings.list("fail-on")) {
    if (name == "exact") {
      rule.fail_on_exact = true;
    } else {
      rule.fail_on.push_back(parse_outcome(name));
    }
  }
  return rule;
}

std::vector<std::string> idle_thresholds(const Comparison& comparison) {
  std::vector<std::string> idle;
  for (const CaseThreshold& one : comparison.rule.exceptions) {
    const bool holds = std::ranges::any_of(comparison.verdicts, [&](const Verdict& verdict) {
      return matches(one.terms, verdict.point);
    });
    if (!holds) idle.push_back(one.filter);
  }
  return idle;
}

int show_comparison(Comparison comparison, const Settings& settings) {
  if (settings.given("title")) comparison.title = settings.text("title");
  const bool is_empty = compares_nothing(comparison);
  if (is_empty) {
    comparison.warnings.emplace_back("no case was measured on both sides: nothing was compared");
  }
  for (const std::string& filter : idle_thresholds(comparison)) {
    comparison.warnings.push_back(fmt::format("--threshold-for: '{}' is no case's", filter));
  }
  const Outputs outputs = named_outputs(settings, report_format_names());
  if (!settings.flag("quiet") && outputs.console.empty()) {
    const bool colour = use_colour(settings.text("color"), STDOUT_FILENO);
    std::cout << comparison_text(comparison, {.colour = colour, .unicode = utf8_locale()});
  }
  write_comparison(comparison, outputs);
  const std::vector<const Verdict*> failing = failures(comparison);
  for (std::size_t i = 0; i < std::min(failing.size(), most_failures_told); ++i) {
    std::cerr << fmt::format("collbench: gate failed: {}: {}: {}\n", failing[i]->name,
                             to_string(failing[i]->outcome), failing[i]->reason);
  }
  if (failing.size() > most_failures_told) {
    std::cerr << fmt::format("collbench: gate failed: and {} more\n",
                             failing.size() - most_failures_told);
  }
  if (!comparison.stopped_by.empty()) {
    std::cerr << fmt::format("collbench: stopped by {} after {} rounds\n", comparison.stopped_by,
                             comparison.rounds);
  }
  if (count(comparison, VerdictOutcome::wrong) > 0) return exit_wrong_result;
  if (!stop_signal_name().empty()) return interrupt_exit_code();
  if (!failing.empty()) return exit_gate_failed;
  if (is_empty) {
    std::cerr << "collbench: nothing was compared: no case was measured on both sides\n";
  }
  return is_empty ? exit_undecided : exit_ok;
}

}  // namespace collbench

#include "cli/gate_options.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "bench/reports/report_verdicts.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr const char* group = "Verdicts";
constexpr std::size_t most_failures_told = 20;  // worst first; the table has all

}  // namespace

void declare_gate_options(CLI::App& command, GateOptions& options) {
  const auto add = [&](const char* name, std::string& value, const char* metavar,
                       const char* help) {
    add_option(command, value, name, metavar, help, group);
  };
  add("--threshold", options.threshold, "PERCENT", "changes within it are none (5%)");
  add("--alpha", options.alpha, "PERCENT", "chance of any false alarm in the comparison (1%)");
  add("--fail-on", options.fail_on, "OUTCOME[,..]",
      "exit 1 on these (wrong,slower,missing,changed,exact); none");
  add("--title", options.title, "TEXT", "of the reports");
  add("--color", options.colour, "WHEN", "auto, always, never");
  add_switch(command, options.quiet, "-q,--quiet", "no table, only what fails", group);
  declare_comparison_outputs(command, options.files);
}

GateRule gate_rule_of(const GateOptions& options) {
  GateRule rule;
  rule.threshold = parse_fraction("--threshold", options.threshold);
  rule.alpha = parse_fraction("--alpha", options.alpha);
  require(rule.threshold < 10, "--threshold must be below 1000%");
  require(rule.alpha < 0.5, "--alpha must be below 50%");
  rule.fail_on.clear();
  rule.fail_on_exact = false;
  if (options.fail_on == "none") return rule;
  for (const std::string& name : parse_list("--fail-on", options.fail_on)) {
    if (name == "exact") {
      rule.fail_on_exact = true;
    } else {
      rule.fail_on.push_back(parse_outcome(name));
    }
  }
  return rule;
}

int show_comparison(const Comparison& comparison, const GateOptions& options) {
  if (!options.quiet) {
    const bool colour = use_colour(options.colour, STDOUT_FILENO);
    std::cout << comparison_text(comparison, {.colour = colour, .unicode = utf8_locale()});
  }
  write_comparison(comparison, options.files);
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
  if (!interrupted_by().empty()) return interrupt_exit_code();
  return failing.empty() ? exit_ok : exit_gate_failed;
}

}  // namespace collbench

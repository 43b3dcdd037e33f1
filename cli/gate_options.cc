#include "cli/gate_options.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

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

/// "66.1 us": four significant digits, without trailing zeros lost.
std::string time_text(double ns, bool unicode) {
  const char* micro = unicode ? "µs" : "us";
  if (ns < 1e3) return fmt::format("{:.4g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.4g} {}", ns / 1e3, micro);
  if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return fmt::format("{:.4g} s", ns / 1e9);
}

std::string arm_text(const std::optional<Arm>& arm, bool unicode) {
  return arm ? time_text(arm->typical_ns, unicode) : "-";
}

std::string change_text(const Verdict& verdict) {
  const std::optional<double> ratio = ratio_of(verdict);
  return ratio ? percent_text(*ratio) : "-";
}

std::string interval_text(const Verdict& verdict) {
  if (verdict.exact) return "exact";
  const RatioEstimate* estimate = deciding(verdict);
  if (estimate == nullptr) return "-";
  if (estimate->high > 1e6) return "none";
  return fmt::format("[{:+.1f}, {:+.1f}]", (estimate->low - 1) * 100, (estimate->high - 1) * 100);
}

/// Shorter than the reason where the columns have said it.
std::string note_text(const Verdict& verdict) {
  if (verdict.outcome == VerdictOutcome::same) return "";
  if (verdict.outcome == VerdictOutcome::inconclusive && verdict.rounds_needed > 0) {
    return fmt::format("would take about {} rounds", verdict.rounds_needed);
  }
  if (verdict.confirmation && verdict.outcome != VerdictOutcome::inconclusive) {
    return fmt::format("confirmed by {} fresh rounds", verdict.confirmation->head_rounds);
  }
  return verdict.reason;
}

const char* colour_of(VerdictOutcome outcome) {
  switch (outcome) {
    case VerdictOutcome::wrong:
    case VerdictOutcome::slower:
    case VerdictOutcome::missing:
    case VerdictOutcome::changed:
      return "\033[31m";
    case VerdictOutcome::faster:
      return "\033[32m";
    case VerdictOutcome::inconclusive:
    case VerdictOutcome::env_mismatch:
    case VerdictOutcome::added:
      return "\033[33m";
    case VerdictOutcome::same:
      return "";
  }
  return "";
}

std::size_t width_of(const std::string& text) {  // characters, not bytes, of UTF-8
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t own = width_of(text);
  const std::string blanks(width > own ? width - own : 0, ' ');
  return right ? blanks + text : text + blanks;
}

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const Comparison& comparison, bool unicode) {
  std::vector<Row> rows = {{"case", "base", "head", "change", "95% interval", "verdict", ""}};
  for (const Verdict& verdict : comparison.verdicts) {
    rows.push_back({verdict.name, arm_text(verdict.base, unicode), arm_text(verdict.head, unicode),
                    change_text(verdict), interval_text(verdict),
                    std::string(to_string(verdict.outcome)), note_text(verdict)});
  }
  return rows;
}

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
  declare_comparison_outputs(command, options.outputs);
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

std::string comparison_text(const Comparison& comparison, bool colour, bool unicode) {
  const std::vector<Row> rows = rows_of(comparison, unicode);
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const bool right = i >= 1 && i <= 4;
      line += (i > 0 ? "  " : "") + padded(rows[r][i], widths[i], right);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    const char* code = r > 0 ? colour_of(comparison.verdicts[r - 1].outcome) : "";
    const bool paints = colour && *code != '\0';
    text += paints ? code + line + "\033[0m\n" : line + "\n";
  }
  for (const std::string& mismatch : comparison.mismatches) text += "# machine: " + mismatch + "\n";
  for (const std::string& warning : comparison.warnings) text += "# warning: " + warning + "\n";
  text += "# " + headline(comparison) + "; " + method_line(comparison) + "\n";
  return text;
}

int show_comparison(const Comparison& comparison, const GateOptions& options) {
  if (!options.quiet) {
    std::cout << comparison_text(comparison, use_colour(options.colour, STDOUT_FILENO),
                                 utf8_locale());
  }
  write_comparison(comparison, options.outputs);
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

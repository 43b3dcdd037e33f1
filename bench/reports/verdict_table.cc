// The table of verdicts that `ab` and `compare` show on a terminal.

#include <fmt/format.h>

#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

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
    case VerdictOutcome::same:
      return "";
    case VerdictOutcome::faster:
      return "\033[32m";
    case VerdictOutcome::inconclusive:
      return "\033[35m";
    case VerdictOutcome::env_mismatch:
    case VerdictOutcome::added:
      return "\033[33m";
    default:
      return "\033[31m";
  }
}

using VerdictCells = std::vector<std::string>;

std::vector<VerdictCells> verdict_cells(const Comparison& comparison, bool unicode) {
  std::vector<VerdictCells> rows = {
      {"case", "base", "head", "change", "95% interval", "verdict", ""}};
  for (const Verdict& verdict : comparison.verdicts) {
    rows.push_back({verdict.name, arm_text(verdict.base, unicode), arm_text(verdict.head, unicode),
                    change_text(verdict), interval_text(verdict),
                    std::string(to_string(verdict.outcome)), note_text(verdict)});
  }
  return rows;
}

}  // namespace

std::string arm_text(const std::optional<Arm>& arm, bool unicode) {
  if (!arm) return "-";
  std::string text = time_text(Seconds{arm->typical_ns * 1e-9});
  if (unicode && text.ends_with(" us")) text.replace(text.size() - 2, 1, "µ");
  return text;
}

std::string change_text(const Verdict& verdict) {
  const std::optional<double> ratio = ratio_of(verdict);
  return ratio ? percent_text(*ratio) : "-";
}

std::string interval_text(const Verdict& verdict) {
  if (verdict.exact) return "exact";
  const RatioEstimate* estimate = deciding(verdict);
  if (estimate == nullptr) return "-";
  if (estimate->high > 1e6) return "none";  // so few rounds bound nothing
  return percent_interval(*estimate);
}

std::string comparison_text(const Comparison& comparison, const TableStyle& style) {
  const std::vector<VerdictCells> rows = verdict_cells(comparison, style.unicode);
  const std::vector<std::string> lines =
      aligned_lines(rows, [](std::size_t column) { return column < 1 || column > 4; });
  std::string text;
  for (std::size_t r = 0; r < lines.size(); ++r) {
    const char* code = r > 0 ? colour_of(comparison.verdicts[r - 1].outcome) : "";
    const bool paints = style.colour && *code != '\0';
    text += paints ? code + lines[r] + "\033[0m\n" : lines[r] + "\n";
  }
  for (const std::string& mismatch : comparison.mismatches) text += "# machine: " + mismatch + "\n";
  for (const std::string& warning : comparison.warnings) text += "# warning: " + warning + "\n";
  text += "# " + headline(comparison) + "; " + method_line(comparison) + "\n";
  return text;
}

}  // namespace collbench

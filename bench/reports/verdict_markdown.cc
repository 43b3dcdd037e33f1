// The comment on a pull request and the summary of a job step.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

constexpr std::size_t most_worst = 10;

/// The mark of the whole: a gate that passes while cases are open, or could not be compared, is no
/// green one.
std::string gate_text(const Comparison& comparison) {
  const std::size_t failed = failures(comparison).size();
  if (failed > 0) {
    return fmt::format("❌ **{} {}.**", failed, failed == 1 ? "case fails" : "cases fail");
  }
  if (compares_nothing(comparison)) return "🟣 **Nothing was compared.**";
  const int open = count(comparison, VerdictOutcome::inconclusive) +
                   count(comparison, VerdictOutcome::env_mismatch);
  return open > 0 ? fmt::format("🟣 **No case fails, {} undecided.**", open)
                  : "✅ **No case fails.**";
}

/// Rounds as bars, on the scale of both arms: the eye sees drift and overlap at once.
std::string sparkline(const std::vector<double>& rounds, double low, double high) {
  constexpr std::string_view bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t most_bars = 20;
  std::string line;
  for (std::size_t i = 0; i < std::min(rounds.size(), most_bars); ++i) {
    const double share = high > low ? (rounds[i] - low) / (high - low) : 0.5;
    line += bars[static_cast<std::size_t>(std::clamp(share * 7.999, 0.0, 7.0))];
  }
  return line;
}

std::string rounds_text(const Verdict& verdict) {
  if (!verdict.base || !verdict.head) return "";
  std::vector<double> all = verdict.base->rounds_ns;
  const std::vector<double>& head = verdict.head->rounds_ns;
  all.insert(all.end(), head.begin(), head.end());
  if (all.empty()) return "";
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  return fmt::format("{} / {}", sparkline(verdict.base->rounds_ns, *low, *high),
                     sparkline(head, *low, *high));
}

std::string outcome_text(const Verdict& verdict, const GateRule& rule) {
  const std::string name(to_string(verdict.outcome));
  return fails(verdict, rule) ? fmt::format("**{}**", name) : name;
}

std::string row(const Verdict& verdict, const GateRule& rule, bool with_rounds) {
  std::string line =
      fmt::format("| {} | {} | {} | {} | {} | {} | {} |", outcome_text(verdict, rule),
                  escaped_for_markdown(verdict.name), arm_text(verdict.base, false),
                  arm_text(verdict.head, false), change_text(verdict), interval_text(verdict),
                  escaped_for_markdown(verdict.reason));
  if (with_rounds) line += fmt::format(" {} |", rounds_text(verdict));
  return line + "\n";
}

std::string heading(bool with_rounds) {
  return fmt::format(
      "| verdict | case | base | head | change | 95 % interval (%) | why |{}\n"
      "|:--|:--|--:|--:|--:|:--|:--|{}\n",
      with_rounds ? " rounds, base / head |" : "", with_rounds ? ":--|" : "");
}

std::string closing(const Comparison& comparison) {
  std::string text =
      fmt::format("\n<sub>{}</sub>\n", escaped_for_markdown(method_line(comparison)));
  for (const std::string& mismatch : comparison.mismatches) {
    text += fmt::format("- the machines differ: {}\n", escaped_for_markdown(mismatch));
  }
  for (const std::string& warning : comparison.warnings) {
    text += fmt::format("- {}\n", escaped_for_markdown(warning));
  }
  if (!comparison.stopped_by.empty()) {
    text += fmt::format("- ended early: {}\n", escaped_for_markdown(comparison.stopped_by));
  }
  return text;
}

}  // namespace

void write_markdown(std::ostream& out, const Comparison& comparison, std::size_t most_bytes) {
  const std::vector<const Verdict*> order = worst_first(comparison);
  std::string text = fmt::format("### {}\n\n{} {}\n\n", escaped_for_markdown(comparison.title),
                                 gate_text(comparison), escaped_for_markdown(headline(comparison)));
  std::string worst;
  std::size_t shown = 0;
  for (const Verdict* verdict : order) {
    if (verdict->outcome == VerdictOutcome::same || shown == most_worst) break;
    worst += row(*verdict, comparison.rule, true);
    ++shown;
  }
  if (shown > 0) text += heading(true) + worst;
  const std::string ending = closing(comparison);
  if (order.size() > shown) {
    text += fmt::format("\n<details><summary>All {} cases</summary>\n\n", order.size());
    text += heading(false);
    const std::string_view fold_end = "\n</details>\n";
    const std::size_t left_out_note = 120;
    std::size_t rows = 0;
    for (const Verdict* verdict : order) {
      const std::string line = row(*verdict, comparison.rule, false);
      if (text.size() + line.size() + fold_end.size() + ending.size() + left_out_note >
          most_bytes) {
        break;
      }
      text += line;
      ++rows;
    }
    if (rows < order.size()) {
      text += fmt::format("\n{} more rows did not fit here; the HTML report has all.\n",
                          order.size() - rows);
    }
    text += fold_end;
  }
  out << fitted_markdown(text + ending, most_bytes);
}

}  // namespace collbench

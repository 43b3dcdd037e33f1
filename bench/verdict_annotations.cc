// GitHub's workflow commands.
#include <ostream>

#include <fmt/format.h>

#include "bench/report_verdicts.h"

namespace collbench {
namespace {

constexpr std::size_t most_shown = 10;  // of a kind and step, by GitHub

/// What would end a message, or in a property the property.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool reserved =
        c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += reserved ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

void annotate(std::ostream& out, std::string_view kind, const std::string& title,
              const std::string& text) {
  out << fmt::format("::{} title={}::{}\n", kind, escaped(title, true), escaped(text, false));
}

void annotate_all(std::ostream& out, std::string_view kind,
                  const std::vector<const Verdict*>& verdicts) {
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (i + 1 == most_shown && verdicts.size() > most_shown) {
      annotate(out, kind, "and more",
               fmt::format("{} more cases, see the report", verdicts.size() - i));
      return;
    }
    const Verdict& verdict = *verdicts[i];
    annotate(out, kind, fmt::format("{}: {}", to_string(verdict.outcome), verdict.name),
             verdict.reason);
  }
}

}  // namespace

void write_annotations(std::ostream& out, const Comparison& comparison) {
  annotate_all(out, "error", failures(comparison));
  std::vector<const Verdict*> unclear;
  for (const Verdict& verdict : comparison.verdicts) {
    if (fails(verdict, comparison.rule)) continue;
    if (verdict.outcome == VerdictOutcome::slower ||
        verdict.outcome == VerdictOutcome::inconclusive ||
        verdict.outcome == VerdictOutcome::env_mismatch) {
      unclear.push_back(&verdict);
    }
  }
  annotate_all(out, "warning", unclear);
  annotate(out, "notice", comparison.title, headline(comparison));
  out << std::flush;
}

}  // namespace collbench

// GitHub's workflow commands.
#include <ostream>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/reports/report_verdicts.h"

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

/// What is said of one case.
struct Annotation {
  std::string title;
  std::string text;
};

void annotate_all(std::ostream& out, std::string_view kind, const std::vector<Annotation>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 == most_shown && all.size() > most_shown) {
      annotate(out, kind, "and more", fmt::format("{} more cases, see the report", all.size() - i));
      return;
    }
    annotate(out, kind, all[i].title, all[i].text);
  }
}

Annotation annotation_of(const Verdict& verdict) {
  return {fmt::format("{}: {}", to_string(verdict.outcome), verdict.name), verdict.reason};
}

}  // namespace

void write_annotations(std::ostream& out, const Comparison& comparison) {
  std::vector<Annotation> failed;
  for (const Verdict* verdict : failures(comparison)) failed.push_back(annotation_of(*verdict));
  annotate_all(out, "error", failed);
  std::vector<Annotation> unclear;
  for (const Verdict& verdict : comparison.verdicts) {
    if (fails(verdict, comparison.rule)) continue;
    if (verdict.outcome == VerdictOutcome::slower ||
        verdict.outcome == VerdictOutcome::inconclusive ||
        verdict.outcome == VerdictOutcome::env_mismatch) {
      unclear.push_back(annotation_of(verdict));
    }
  }
  annotate_all(out, "warning", unclear);
  annotate(out, "notice", comparison.title, headline(comparison));
  out << std::flush;
}

void write_annotations(std::ostream& out, const std::vector<Record>& records) {
  std::vector<Annotation> wrong;
  for (const Record& record : records) {
    if (is_right(record)) continue;
    wrong.push_back({"wrong: " + case_name(record.point), wrong_text(record)});
  }
  annotate_all(out, "error", wrong);
  out << std::flush;
}

}  // namespace collbench

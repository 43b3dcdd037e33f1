// A comparison for people and for CI systems: Markdown, JUnit, OpenMetrics, GitHub's annotations.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "bench/reports/formats.h"
#include "bench/verdicts/verdict.h"

namespace collbench {

/// What GitHub takes: characters of a comment, bytes of a step summary. We count bytes for both,
/// which are never fewer than characters.
inline constexpr std::size_t most_comment_bytes = 65'536;
inline constexpr std::size_t most_summary_bytes = 1'048'576;

/// Cells of tables: "1.213 ms", "+3.1 %", "[+1.0, +5.2]" in percent; a dash for what is not known.
std::string arm_text(const std::optional<Arm>& arm, bool unicode);
std::string change_text(const Verdict& verdict);
std::string interval_text(const Verdict& verdict);

/// The table for a terminal: one aligned row per verdict, and the closing lines.
std::string comparison_text(const Comparison& comparison, const TableStyle& style);

/// A headline, the worst ten verdicts, all of them folded away, and how it was measured. What does
/// not fit is left out, best verdicts first, and counted.
void write_markdown(std::ostream& out, const Comparison& comparison, std::size_t most_bytes);

/// Lines that GitHub Actions shows beside the change: "::error title=...::...". It shows ten of a
/// kind per step; the worst come first, and the last says how many more there are.
void write_annotations(std::ostream& out, const Comparison& comparison);
/// The same of records whose result was wrong.
void write_annotations(std::ostream& out, const std::vector<Record>& records);

}  // namespace collbench

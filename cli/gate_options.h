// What `ab` and `compare` have in common: the options of the gate, and showing a comparison.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/verdicts/verdict.h"
#include "cli/settings.h"

namespace collbench {

inline constexpr const char* verdicts_group = "Verdicts";

/// The options of the gate, and one for each format that shows comparisons: its file.
std::span<const OptionRow> gate_option_rows();

/// Throws InvalidArgument naming the option for a value that is wrong.
GateRule gate_rule_of(const Settings& settings);

/// The filters of --threshold-for that hold for no case of the comparison: a slip of the pen leaves
/// the common threshold in force.
std::vector<std::string> idle_thresholds(const Comparison& comparison);

/// Whether GitHub Actions runs us, which shows annotations; it reads them from both streams.
bool under_github_actions();

/// Writes the files, the table to standard output unless another format goes there, what fails to
/// standard error and, under GitHub Actions, annotations and the step summary. --title replaces the
/// title; thresholds for no case are warned of. Returns the exit code: 3 for a wrong result, else
/// 130 or 143 if a signal came, else 1 for a failed gate, else 6 if no case was measured on both
/// sides, else 0.
int show_comparison(Comparison comparison, const Settings& settings);

}  // namespace collbench

// What `collbench report` writes: each format once, for standard output or a file.
#pragma once

#include <string>
#include <vector>

#include "cli/report_inputs.h"
#include "cli/reporters.h"

namespace collbench {

/// Writes the files, then standard output. Throws Unavailable or Error naming the file, and
/// InvalidArgument if there is nothing to show in a format.
void write_reports(const Outputs& outputs, const ReportInputs& inputs);

/// Under GitHub Actions: annotations of the comparison and of wrong results, to standard error.
void annotate(const ReportInputs& inputs);

/// Draws the records with gnuplot; "-" is a picture of characters on standard output, and a name
/// that ends in ".gp" is gnuplot's input. Throws Unavailable if gnuplot is not installed.
void write_plot(const std::string& path, const std::vector<Record>& records);

}  // namespace collbench

// What `collbench report` writes: each format once, for standard output or a file.
#pragma once

#include <string>
#include <vector>

#include "cli/comparison_outputs.h"
#include "cli/report_inputs.h"

namespace collbench {

/// What shapes the output beside its format.
struct ReportShape {
  std::string title = "collbench report";
  std::vector<std::string> columns;
  std::vector<std::string> sort;
  std::string colour = "auto";
  bool quiet = false;
  bool raw_samples = false;
};

/// Writes one format to standard output. Throws InvalidArgument for an unknown name, and if there
/// is nothing to show in it.
void print_report(const std::string& format, const ReportInputs& inputs, const ReportShape& shape);

/// Writes the files, by the names of their formats. Throws Unavailable or Error naming the file.
void write_reports(const FilesByFormat& files, const ReportInputs& inputs,
                   const ReportShape& shape);

/// Under GitHub Actions: annotations of the comparison and of wrong results, to standard error.
void annotate(const ReportInputs& inputs);

/// Draws the records with gnuplot; "-" is a picture of characters on standard output, and a name
/// that ends in ".gp" is gnuplot's input. Throws Unavailable if gnuplot is not installed.
void write_plot(const std::string& path, const std::vector<Record>& records);

}  // namespace collbench

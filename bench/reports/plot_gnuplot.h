// A picture of records for papers, terminals and READMEs, as input of gnuplot.
//
// One row of two plots per choice of everything but algorithm and size: bus bandwidth and time
// against size on logarithmic axes, the middle half of the samples as a band, the bound dashed.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/records/record.h"

namespace collbench {

/// Rows of plots at most; the choices with the most records are shown.
inline constexpr std::size_t most_plot_rows = 4;

/// Writes the script with its data. `path` is the file that gnuplot shall write: ".svg", ".png",
/// ".pdf"; "-" is text on its standard output. Throws InvalidArgument for another ending and if no
/// record has figures.
void write_gnuplot(std::ostream& out, const std::vector<Record>& records, const std::string& path);

}  // namespace collbench

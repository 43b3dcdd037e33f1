#include "bench/reports/gnuplot.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

struct PlotTerminal {
  std::string_view ending;    // of the file's name; "-" is the whole
  std::string_view settings;  // around the height of all rows
  double row_height;
  std::string_view after = "";
};

constexpr PlotTerminal plot_terminals[] = {
    {".svg", "svg size 1000,", 360, " dynamic background 'white'"},
    {".png", "pngcairo size 1400,", 500, " fontscale 1.1"},
    {".pdf", "pdfcairo size 10in,", 3.6, "in"},
    {"-", "dumb size 100,", 26},
};

}  // namespace

std::string gnuplot_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

void set_terminal(std::ostream& out, const std::string& path, double rows) {
  const auto terminal = std::ranges::find_if(plot_terminals, [&](const PlotTerminal& one) {
    return one.ending == "-" ? path == "-" : path.ends_with(one.ending);
  });
  require(terminal != std::end(plot_terminals),
          fmt::format("a plot is a .svg, .png or .pdf, or - for the terminal, not '{}'", path));
  out << fmt::format("set terminal {}{:g}{}\n", terminal->settings, terminal->row_height * rows,
                     terminal->after);
  if (path != "-") out << "set output " << gnuplot_quoted(path) << '\n';
}

}  // namespace collbench

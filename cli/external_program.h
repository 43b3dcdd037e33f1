// Programs of other packages that work for us: gnuplot and Graphviz draw, z3 searches.
#pragma once

#include <string>

namespace collbench {

struct ExternalProgram {
  std::string command;  // with its options, as for a shell
  std::string package;  // of Debian
  std::string without;  // what the user can do without it
};

/// Its standard output when given `input` on its standard input. Throws Unavailable, naming package
/// and `without`, if it is not installed, Error if it fails.
std::string run_external(const ExternalProgram& program, const std::string& input);

/// Graphviz' picture of `dot`, as SVG.
std::string svg_of(const std::string& dot);

}  // namespace collbench

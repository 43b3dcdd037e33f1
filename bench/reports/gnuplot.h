// What the pictures that gnuplot draws have in common: texts, and the file that is drawn.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace collbench {

/// A string of gnuplot in single quotes, where only the quote is special. Ends of lines become
/// blanks.
std::string gnuplot_quoted(std::string_view text);

/// Tells gnuplot what to draw on, `rows` pictures high: the file `path` (".svg", ".png", ".pdf"),
/// or text on its standard output for "-". Throws InvalidArgument for another ending.
void set_terminal(std::ostream& out, const std::string& path, double rows);

}  // namespace collbench

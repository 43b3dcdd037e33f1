// Cells of CSV as RFC 4180 quotes them, but for line breaks, which end a row here in any case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// The cell of a text, quoted where it must be. What a spreadsheet would compute ("=1+1", "-x")
/// gets an apostrophe in front, which makes it a text.
std::string csv_quoted(std::string text);

/// The cells of a line, without blanks around them. Throws InvalidArgument, led by `place`, for a
/// quote that does not end.
std::vector<std::string> csv_cells(std::string_view line, const std::string& place);

}  // namespace collbench

// Configuration files: the part of TOML that a list of settings needs.
//
// A file is lines `key = value`, where a value is a "string" or 'string', a number, true or false,
// or an array of these on one line; `#` starts a comment. Keys are the long names of options. A
// table header [run] may precede the options of that command; other tables are refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// One setting; an array's items are joined by commas, as they would be written on the command
/// line.
struct ConfigEntry {
  std::string key;
  std::string value;
  int line = 0;
};

/// Reads the text of a file named `file`. Throws InvalidArgument, naming file and line, for what is
/// not of the form above and for a key given twice. O(length).
std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& file);

/// Reads a whole file. Throws Unavailable if it cannot be read.
std::string read_text_file(const std::string& path);

}  // namespace collbench

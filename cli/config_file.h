// Configuration files: TOML whose keys are the long names of options.
//
// A value is what would be written on the command line: a "string", a number, true or false, or a
// list of these. A table [run] may hold the options of that command; other tables are refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/toml_table.h"

namespace collbench {

/// Reads the text of a file named `file`. Throws InvalidArgument, naming file and line, for what is
/// not of the form above and for a key given twice.
std::vector<TomlSetting> parse_config(std::string_view text, const std::string& file);

}  // namespace collbench

// Whole files as text.
#pragma once

#include <string>

namespace collbench {

/// Throws Unavailable, "cannot read the WHAT 'PATH'", if it cannot be read or is a folder.
std::string read_text_file(const std::string& path, const std::string& what = "file");

/// Of the kernel's files, which may not be there: the first line, and what follows "KEY:" and
/// blanks in the first line that begins so; `otherwise` if there is none.
std::string first_line(const std::string& path, const std::string& otherwise = "");
std::string value_in_file(const std::string& path, const std::string& key,
                          const std::string& otherwise = "");

}  // namespace collbench

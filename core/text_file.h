// Whole files as text.
#pragma once

#include <string>

namespace collbench {

/// Throws Unavailable, "cannot read the WHAT 'PATH'", if it cannot be read or is a folder.
std::string read_text_file(const std::string& path, const std::string& what = "file");

}  // namespace collbench

// Whole files as text.
#pragma once

#include <string>

namespace collbench {

/// Throws Unavailable, naming the file, if it cannot be read or is a folder.
std::string read_text_file(const std::string& path);

}  // namespace collbench

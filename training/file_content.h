// Files that are read as a whole.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "core/error.h"

namespace collbench {

/// Throws Unavailable, "cannot read the WHAT 'PATH'".
inline std::string file_content(const std::string& path, const char* what) {
  std::ifstream file(path, std::ios::binary);
  file.peek();  // a folder can be opened, but not read
  if (!file.is_open() || file.bad()) {
    throw Unavailable(std::string("cannot read the ") + what + " '" + path + "'");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace collbench

#include "core/text_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"

namespace collbench {

std::string read_text_file(const std::string& path, const std::string& what) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // A folder can be opened, but not read.
  if (!in || std::filesystem::is_directory(path)) {
    throw Unavailable("cannot read the " + what + " '" + path + "'");
  }
  text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace collbench

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

std::string first_line(const std::string& path, const std::string& otherwise) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && !line.empty() ? line : otherwise;
}

std::string value_in_file(const std::string& path, const std::string& key,
                          const std::string& otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.rfind(key, 0) != 0 || colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return otherwise;
}

}  // namespace collbench

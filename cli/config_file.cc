#include "cli/config_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

std::vector<TomlSetting> parse_config(std::string_view text, const std::string& file) {
  const TomlTable root = TomlTable::parse(text, file);
  std::vector<TomlSetting> of_run;
  if (root.has("run")) of_run = root.table("run").settings();
  std::vector<TomlSetting> all = root.settings();
  for (TomlSetting& setting : of_run) {
    const bool again = std::ranges::count(all, setting.key, &TomlSetting::key) > 0;
    require(!again, fmt::format("{}:{}: '{}' is given twice", file, setting.line, setting.key));
    all.push_back(std::move(setting));
  }
  return all;
}

std::string read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // A folder can be opened, but not read.
  if (!in || std::filesystem::is_directory(path)) {
    throw Unavailable(fmt::format("cannot read the file '{}'", path));
  }
  text << in.rdbuf();
  return text.str();
}

}  // namespace collbench

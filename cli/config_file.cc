// Configuration files of settings.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/settings.h"
#include "core/error.h"
#include "core/input_file.h"

namespace collbench {
namespace {

// Options whose values have commas inside.
constexpr std::array<std::string_view, 2> by_semicolon = {"topo", "groups"};

// Of what is written by hand. Where there is more, it is another kind of file.
constexpr std::size_t largest_config = std::size_t{1} << 20;

}  // namespace

std::vector<TomlSetting> parse_config(std::string_view text, const std::string& file) {
  const TomlTable root = TomlTable::parse(text, file);
  std::vector<TomlSetting> of_run;
  if (root.has("run")) of_run = root.table("run").settings(by_semicolon);
  std::vector<TomlSetting> all = root.settings(by_semicolon);
  for (TomlSetting& setting : of_run) {
    const bool again = std::ranges::count(all, setting.key, &TomlSetting::key) > 0;
    require(!again, fmt::format("{}:{}: '{}' is given twice", file, setting.line, setting.key));
    all.push_back(std::move(setting));
  }
  return all;
}

std::vector<TomlSetting> read_config(const std::string& file) {
  return parse_config(read_file(file, largest_config), file);
}

}  // namespace collbench

// Configuration files of settings.
#include <algorithm>

#include <fmt/format.h>

#include "cli/settings.h"
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

}  // namespace collbench

#include "cli/settings.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"
#include "topologies/toml_table.h"

namespace collbench {
namespace {

constexpr int flag_priority = 100;
constexpr int environment_priority = 99;

std::string environment_name(std::string_view option) {
  std::string name = "COLLBENCH_";
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string flag_value(const OptionRow& row, const std::string& text, const std::string& source) {
  if (!row.metavar.empty()) return text;
  if (text == "true" || text == "1" || text == "on" || text == "yes") return "true";
  if (text == "false" || text == "0" || text == "off" || text == "no") return "false";
  throw InvalidArgument(
      fmt::format("{}: '{}' is a switch: true or false, not '{}'", source, row.name, text));
}

std::vector<std::string> configurable_names(std::span<const OptionRow> rows) {
  std::vector<std::string> names;
  for (const OptionRow& row : rows) {
    if (is_configurable(row.name)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace

bool is_configurable(std::string_view name) {
  return name != "config" && name != "dump-config" && name != "list" && name != "dry-run";
}

void declare_options(CLI::App& app, std::span<const OptionRow> rows) {
  for (const OptionRow& row : rows) {
    std::string names = row.letter.empty() ? "" : fmt::format("-{},", row.letter);
    names += fmt::format("--{}", row.name);
    // CLI11 takes a mutable string for a variable to fill, hence const.
    const std::string help = row.default_value.empty()
                                 ? std::string(row.help)
                                 : fmt::format("{} [{}]", row.help, row.default_value);
    if (row.metavar.empty()) {
      app.add_flag(names, help)->group(std::string(row.group));
      continue;
    }
    app.add_option(names, help)
        ->group(std::string(row.group))
        ->option_text(std::string(row.metavar))
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

std::vector<ConfigLayer> explicit_layer(const std::string& explicit_file) {
  if (explicit_file.empty()) return {};
  return {{explicit_file, parse_config(read_text_file(explicit_file), explicit_file)}};
}

std::string config_file_of(const CLI::App& app) {
  const CLI::Option* option = app.get_option("--config");
  return option->count() > 0 ? option->as<std::string>() : std::string();
}

std::vector<ConfigLayer> config_layers(const std::string& explicit_file) {
  std::vector<ConfigLayer> layers = explicit_layer(explicit_file);
  const auto add = [&](const std::string& file) {
    layers.push_back({file, parse_config(read_text_file(file), file)});
  };
  if (std::filesystem::exists("collbench.toml")) add("./collbench.toml");
  const char* config_home = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (config_home != nullptr && *config_home != '\0') {
    folder = config_home;
  } else if (home != nullptr && *home != '\0') {
    folder = std::string(home) + "/.config";
  }
  const std::string own = folder + "/collbench/config.toml";
  if (!folder.empty() && std::filesystem::exists(own)) add(own);
  return layers;
}

Settings::Settings(const CLI::App& app, std::span<const OptionRow> rows,
                   const std::vector<ConfigLayer>& layers)
    : rows_(rows) {
  for (const OptionRow& row : rows) {
    const std::string fallback(row.metavar.empty() ? "false" : row.default_value);
    values_.emplace(row.name, Setting{fallback, "default", 0});
    const CLI::Option* option = app.get_option("--" + std::string(row.name));
    if (option->count() > 0) {
      const std::string text = row.metavar.empty() ? "true" : option->as<std::string>();
      take(row.name, text, "flag", flag_priority);
    }
    if (!is_configurable(row.name)) continue;
    const std::string variable = environment_name(row.name);
    const char* set = std::getenv(variable.c_str());
    if (set != nullptr && *set != '\0') {
      take(row.name, flag_value(row, set, variable), variable, environment_priority);
    }
  }
  int priority = environment_priority - 1;
  for (const ConfigLayer& layer : layers) {
    for (const TomlSetting& entry : layer.entries) {
      const std::string source = fmt::format("{}:{}", layer.file, entry.line);
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const auto& r) { return r.name == entry.key; });
      if (row == rows.end() || !is_configurable(row->name)) {
        const auto known = configurable_names(rows);
        throw InvalidArgument(fmt::format("{}: unknown key '{}'.{}", source, entry.key,
                                          did_you_mean(entry.key, known)));
      }
      take(row->name, flag_value(*row, entry.value, source), source, priority);
    }
    --priority;
  }
}

void Settings::take(std::string_view name, const std::string& value, std::string source,
                    int priority) {
  Setting& setting = values_.find(name)->second;
  if (priority > setting.priority) setting = {value, std::move(source), priority};
}

const Setting& Settings::at(std::string_view name) const {
  const auto found = values_.find(name);
  assert(found != values_.end());
  return found->second;
}

std::string Settings::label(std::string_view name) const {
  const Setting& setting = at(name);
  if (setting.priority == 0 || setting.priority == flag_priority) return fmt::format("--{}", name);
  return fmt::format("--{} (from {})", name, setting.source);
}

std::string_view Settings::pick(std::string_view one, std::string_view other) const {
  const auto rank = [&](std::string_view name) {
    const bool off = at(name).value == "false";
    return off ? 0 : at(name).priority;
  };
  require(rank(one) == 0 || rank(one) != rank(other),
          fmt::format("{} and {} exclude each other", label(one), label(other)));
  if (rank(one) == 0 && rank(other) == 0) return "";
  return rank(one) > rank(other) ? one : other;
}

std::string Settings::to_config() const {
  std::string out = "# the settings in force; save as collbench.toml to keep them\n";
  for (const OptionRow& row : rows_) {
    if (!is_configurable(row.name)) continue;
    const Setting& setting = at(row.name);
    if (setting.value.empty() || (setting.value == "false" && setting.priority == 0)) continue;
    const std::string value = row.metavar.empty() ? setting.value : toml_quoted(setting.value);
    out += fmt::format("{:<36}# {}\n", fmt::format("{} = {}", row.name, value), setting.source);
  }
  return out;
}

std::vector<std::string> Settings::provenance() const {
  std::vector<std::string> lines;
  for (const OptionRow& row : rows_) {
    const Setting& setting = at(row.name);
    if (setting.priority == 0) continue;
    lines.push_back(fmt::format("{} = {} ({})", row.name, setting.value, setting.source));
  }
  return lines;
}

bool shows_settings(const Settings& settings) {
  if (settings.declares("verbose") && settings.flag("verbose")) {
    for (const std::string& line : settings.provenance()) {
      std::cerr << "collbench: " << line << '\n';
    }
  }
  if (!settings.declares("dump-config") || !settings.flag("dump-config")) return false;
  std::cout << settings.to_config();
  return true;
}

}  // namespace collbench

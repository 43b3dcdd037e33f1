#include "cli/settings.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <limits>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "core/environment_variable.h"
#include "core/error.h"
#include "core/host_port.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "transports/cuda/places.h"

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

bool takes_several(const OptionRow& row) {
  return row.metavar.ends_with("...") || row.metavar.starts_with("-- ");
}

/// As CLI11 takes it: "-o,--out", "--out", "FILE".
std::string spelling(const OptionRow& row) {
  if (is_argument(row.name)) return std::string(row.name);
  return fmt::format("{}{}--{}", row.letter.empty() ? "" : fmt::format("-{},", row.letter),
                     row.also.empty() ? "" : fmt::format("--{},", row.also), row.name);
}

/// Those that say what to do instead, or about settings themselves, cannot be set from a file or
/// the environment.
bool is_configurable(std::string_view option) {
  constexpr std::string_view direct[] = {"config",  "dump-config", "list",
                                         "dry-run", "help",        "version"};
  return std::ranges::find(direct, option) == std::end(direct);
}
bool is_configurable(const OptionRow& row) {
  return !is_argument(row.name) && is_configurable(row.name);
}

std::vector<std::string> configurable_names(std::span<const OptionRow> rows) {
  std::vector<std::string> names;
  for (const OptionRow& row : rows) {
    if (is_configurable(row)) names.emplace_back(row.name);
  }
  return names;
}

void check_gpus(const std::string& label, const std::string& value) {
  for (const std::string& name : parse_list(label, value)) {
    require(cuda_device_number(name).has_value(),
            fmt::format("{}: '{}' is not a GPU; write gpu:0, gpu:1, ..", label, name));
  }
}

/// Refuses what no command could use, by what the metavar stands for, whether or not the command as
/// it was called looks at it.
void check_value(const OptionRow& row, const std::string& label, const std::string& value) {
  if (row.metavar.empty()) return;
  require(!value.empty(), fmt::format("{}: the value is empty", label));
  if (value == row.default_value) return;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (row.metavar == "N" || row.metavar == "R") parse_count(label, value, -most, most);
  if (row.metavar == "X") parse_number(label, value);
  if (row.metavar == "SIZE") parse_size_option(label, value);
  if (row.metavar == "PERCENT") parse_fraction(label, value);
  if (row.metavar == "TIME" && value != "0") parse_positive_duration(label, value);
  if (row.metavar == "GPU[,..]") check_gpus(label, value);
  if (row.metavar == "H:PORT") parse_host_port(label, value);
  constexpr std::string_view one_word[] = {"buffers", "color", "executor", "progress", "transport"};
  if (std::ranges::find(one_word, row.name) != std::end(one_word)) {
    require_known(label, value, option_words(row.name));
  }
}

/// Variables that are no options, each read where it is used.
constexpr std::string_view other_variables[] = {
    "COLLBENCH_CUDA_LIBRARY", "COLLBENCH_CUDNN_LIBRARY", "COLLBENCH_ISA",
    "COLLBENCH_JOB_TOKEN",    "COLLBENCH_NCCL_LIBRARY",  "COLLBENCH_NVML_LIBRARY",
    "COLLBENCH_PARENT",       "COLLBENCH_SHARDS",        "COLLBENCH_WORKER_TOKEN"};

/// Adds the variables of the options of `app` and of all commands below it.
void add_variables(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (is_configurable(name)) names.push_back(environment_name(name));
    }
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) add_variables(*command, names);
}

/// A misspelt variable would otherwise be ignored silently.
void refuse_unknown_variables(const CLI::App& app) {
  const CLI::App* top = &app;
  while (top->get_parent() != nullptr) top = top->get_parent();
  std::vector<std::string> known(std::begin(other_variables), std::end(other_variables));
  add_variables(*top, known);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("COLLBENCH_")) continue;
    const std::string name(text.substr(0, text.find('=')));
    const bool is_known = std::ranges::find(known, name) != known.end();
    require(is_known,
            fmt::format("{} is not a collbench setting.{}", name, did_you_mean(name, known)));
  }
}

}  // namespace

bool is_argument(std::string_view option) { return option.front() >= 'A' && option.front() <= 'Z'; }

std::vector<OptionRow> concatenated(std::initializer_list<std::span<const OptionRow>> tables) {
  std::vector<OptionRow> rows;
  for (const auto table : tables) rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

void declare_options(CLI::App& app, std::span<const OptionRow> rows) {
  for (const OptionRow& row : rows) {
    // CLI11 takes a mutable string for a variable to fill, hence const.
    const std::string help = row.default_value.empty()
                                 ? std::string(row.help)
                                 : fmt::format("{} [{}]", row.help, row.default_value);
    CLI::Option* option = nullptr;
    if (row.metavar.empty()) {
      option = app.add_flag(spelling(row), help);
    } else {
      option = app.add_option(spelling(row), help)->option_text(std::string(row.metavar));
      option->expected(takes_several(row) ? CLI::detail::expected_max_vector_size : 1);
      if (!is_argument(row.name)) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    option->group(std::string(row.group))->required(row.presence == Presence::required);
  }
}

std::vector<ConfigLayer> explicit_layer(const std::string& explicit_file) {
  if (explicit_file.empty()) return {};
  return {{explicit_file, read_config(explicit_file)}};
}

std::vector<ConfigLayer> explicit_file_of(const CLI::App& app) {
  return explicit_layer(config_file_of(app));
}

std::string config_file_of(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option(name);
  return option->count() > 0 ? option->as<std::string>() : std::string();
}

std::vector<ConfigLayer> config_layers(const std::string& explicit_file) {
  std::vector<ConfigLayer> layers = explicit_layer(explicit_file);
  const auto add = [&](const std::string& file) { layers.push_back({file, read_config(file)}); };
  std::error_code ignored;  // a home that may not be looked into has no settings
  if (std::filesystem::exists("collbench.toml", ignored)) add("./collbench.toml");
  std::string folder = environment_variable("XDG_CONFIG_HOME");
  const std::string home = environment_variable("HOME");
  if (folder.empty() && !home.empty()) folder = home + "/.config";
  const std::string own = folder + "/collbench/config.toml";
  if (!folder.empty() && std::filesystem::exists(own, ignored)) add(own);
  return layers;
}

Settings::Settings(const CLI::App& app, std::span<const OptionRow> rows) : rows_(rows) {
  for (const OptionRow& row : rows) {
    const std::string fallback(row.metavar.empty() ? "false" : row.default_value);
    values_.emplace(row.name, Setting{fallback, "default", 0});
    const CLI::Option* option = app.get_option(
        is_argument(row.name) ? std::string(row.name) : fmt::format("--{}", row.name));
    if (option->count() == 0) continue;
    take(row.name, flag_value(row, option->results().back(), fmt::format("--{}", row.name)), "flag",
         flag_priority);
    values_.find(row.name)->second.words = option->results();
    check_value(row, label(row.name), at(row.name).value);
  }
  refuse_unknown_variables(app);
}

Settings::Settings(const CLI::App& app, std::span<const OptionRow> rows,
                   const std::vector<ConfigLayer>& layers)
    : Settings(app, rows) {
  take_environment();
  take_files(layers);
  for (const OptionRow& row : rows) {
    if (at(row.name).priority > 0) check_value(row, label(row.name), at(row.name).value);
  }
}

void Settings::take_environment() {
  for (const OptionRow& row : rows_) {
    if (!is_configurable(row)) continue;
    const std::string variable = environment_name(row.name);
    const std::string set = environment_variable(variable);
    if (set.empty()) continue;
    take(row.name, flag_value(row, set, variable), variable, environment_priority);
  }
}

void Settings::take_files(const std::vector<ConfigLayer>& layers) {
  int priority = environment_priority - 1;
  for (const ConfigLayer& layer : layers) {
    for (const TomlSetting& entry : layer.entries) {
      const std::string source = fmt::format("{}:{}", layer.file, entry.line);
      const auto row = std::ranges::find(rows_, entry.key, &OptionRow::name);
      if (row == rows_.end() || !is_configurable(*row)) {
        throw InvalidArgument(fmt::format("{}: unknown key '{}'.{}", source, entry.key,
                                          did_you_mean(entry.key, configurable_names(rows_))));
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

const Setting& Settings::read(std::string_view name) const {
  const Setting& setting = at(name);
  setting.is_read->store(true, std::memory_order_relaxed);
  return setting;
}

int Settings::count(std::string_view name, std::int64_t least, std::int64_t most) const {
  return static_cast<int>(parse_count(label(name), text(name), least, most));
}

double Settings::number(std::string_view name) const {
  return parse_number(label(name), text(name));
}

double Settings::fraction(std::string_view name) const {
  return parse_fraction(label(name), text(name));
}

Seconds Settings::duration(std::string_view name) const {
  return parse_positive_duration(label(name), text(name));
}

Bytes Settings::size(std::string_view name) const {
  return parse_size_option(label(name), text(name));
}

std::vector<std::string> Settings::list(std::string_view name) const {
  if (text(name).empty() && !given(name)) return {};
  return parse_list(label(name), text(name));
}

std::vector<std::string> Settings::algorithms() const {
  const std::vector<std::string> words = option_words("algo");
  const auto begins_one = [&](const std::string& item) {
    const std::string name = item.substr(0, item.find_first_of(":@"));
    return name == "file" || std::ranges::find(words, name) != words.end();
  };
  std::vector<std::string> specs;
  for (const std::string& item : list("algo")) {
    const bool is_of_network = !specs.empty() && specs.back().find(":topo=") != std::string::npos;
    if (is_of_network && !begins_one(item)) {
      specs.back() += "," + item;
    } else {
      specs.push_back(item);
    }
  }
  return specs;
}

std::vector<int> Settings::worker_counts(std::string_view name) const {
  return parse_worker_counts(label(name), text(name));
}

std::uint64_t Settings::seed() const {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::uint64_t>(parse_count(label("seed"), text("seed"), 0, most));
}

const std::string& Settings::one_of(std::string_view name,
                                    const std::vector<std::string>& known) const {
  require_known(label(name), text(name), known);
  return text(name);
}

std::string Settings::format_of(const std::vector<std::string>& known) const {
  const std::string& format = one_of("format", known);
  if (!flag("json")) return format;
  require(!given("format") || format == "json",
          fmt::format("--json is short for --format json, and {} is {}; give one of them",
                      label("format"), format));
  return "json";
}

std::string Settings::label(std::string_view name) const {
  const Setting& setting = at(name);
  if (is_argument(name)) return std::string(name);
  if (setting.priority == 0 || setting.priority == flag_priority) return fmt::format("--{}", name);
  return fmt::format("--{} (from {})", name, setting.source);
}

std::string_view Settings::pick(std::string_view one, std::string_view other) const {
  const auto rank = [&](std::string_view name) {
    const Setting& setting = read(name);
    return setting.value == "false" ? 0 : setting.priority;
  };
  require(rank(one) == 0 || rank(one) != rank(other),
          fmt::format("{} and {} exclude each other", label(one), label(other)));
  if (rank(one) == 0 && rank(other) == 0) return "";
  return rank(one) > rank(other) ? one : other;
}

void Settings::refuse_group(std::string_view group, const std::vector<std::string_view>& kept,
                            std::string_view where) const {
  for (const OptionRow& row : rows_) {
    const bool is_flag = at(row.name).priority == flag_priority;
    if (row.group != group || !is_flag || std::ranges::find(kept, row.name) != kept.end()) continue;
    throw InvalidArgument(fmt::format("--{} has no effect {}", row.name, where));
  }
}

std::vector<std::string> Settings::unread_flags() const {
  std::vector<std::string> names;
  for (const OptionRow& row : rows_) {
    const Setting& setting = at(row.name);
    const bool is_flag = setting.priority == flag_priority && !is_argument(row.name);
    if (is_flag && row.name != "config" && !*setting.is_read) names.push_back(label(row.name));
  }
  return names;
}

std::string Settings::to_config() const {
  std::string out = "# the settings in force, to be read by --config; defaults are commented out\n";
  for (const OptionRow& row : rows_) {
    if (!is_configurable(row)) continue;
    const Setting& setting = at(row.name);
    const bool is_default = setting.priority == 0;
    if (setting.value.empty() || (setting.value == "false" && is_default)) continue;
    const std::string value = row.metavar.empty() ? setting.value : toml_quoted(setting.value);
    const std::string line = fmt::format("{}{} = {}", is_default ? "# " : "", row.name, value);
    out += fmt::format("{:<36}# {}\n", line, setting.source);
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

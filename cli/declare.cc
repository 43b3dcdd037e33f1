#include "cli/declare.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/terminal.h"

namespace collbench {
namespace {

/// Other ranks than the first leave to it what concerns the whole run, such as files to write.
void warn_of_unread(const Settings& settings) {
  const std::vector<std::string> unread = settings.unread_flags();
  if (unread.empty() || !speaks_for_all()) return;
  std::cout.flush();
  std::cerr << fmt::format("{}collbench: warning: {} had no effect here\n", speaker(),
                           fmt::join(unread, ", "));
}

int carry_out(const CLI::App& app, std::span<const OptionRow> rows, SettingsAction* run,
              SettingsFiles* files) {
  const Settings settings =
      files == nullptr ? Settings(app, rows) : Settings(app, rows, files(app));
  if (shows_settings(settings)) return exit_ok;
  require_distinct_outputs(settings);
  // It has read all of them before it writes, so that records can be added to a file.
  if (app.get_name() != "merge") require_inputs_kept(settings);
  const TextBesideFile text(settings);
  const int code = run(settings);
  warn_of_unread(settings);
  return code;
}

/// The options of commands that were added. Which are asked for is known later: CLI11 takes as long
/// to declare those of all commands as a choice on a fitted machine takes.
auto& command_rows() {
  static std::vector<std::pair<CLI::App*, std::span<const OptionRow>>> all;
  return all;
}

/// Whether any setting comes from the environment: then those of all commands must be known.
bool has_variables() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("COLLBENCH_")) return true;
  }
  return false;
}

}  // namespace

void declare_asked_options(CLI::App& app, int argc, char** argv) {
  const auto has = [&](std::string_view word) {
    return std::count(argv + 1, argv + argc, word) > 0;
  };
  const auto others = std::as_const(app).get_subcommands([&](const CLI::App* command) {
    return argc > 1 && command->get_name() == argv[1] && command->get_name() != "run";
  });
  // "-qh" asks for help as well; other words that look so cost time, no more.
  const bool has_h = std::any_of(argv + 1, argv + argc, [](std::string_view word) {
    return word.starts_with('-') && !word.starts_with("--") && word.find('h') != word.npos;
  });
  const bool all = has_h || has("--help") || has("help") || has("completion") || has_variables();
  for (const auto& [command, rows] : command_rows()) {
    const CLI::App* parent = command->get_parent();
    const bool asked =
        parent == nullptr ? others.empty() : has(command->get_name()) || has(parent->get_name());
    if (all || asked) declare_options(*command, rows);
  }
  app.set_version_flag("--version,-V", std::string(), "print the version");
}

std::string words_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return "";
  return words_of(*parent) + " " + command.get_name();
}

std::vector<std::string> commands_with(std::string_view option) {
  std::vector<std::string> found;
  for (const auto& [command, rows] : command_rows()) {
    const bool has = std::ranges::any_of(rows, [&](const OptionRow& row) {
      return row.group != arguments_group &&
             (option == fmt::format("--{}", row.name) || option == fmt::format("--{}", row.also) ||
              option == fmt::format("-{}", row.letter));
    });
    const std::string words = words_of(*command);
    if (has) found.push_back(words.empty() ? "run" : words.substr(1));
  }
  return found;
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action,
                      std::function<int(const CLI::App&)> run) {
  CLI::App* command = parent.add_subcommand(name, help);
  command_rows().emplace_back(command, rows);
  command->require_subcommand(0, 1);
  command->allow_extras();
  command->callback([command, &action, run = std::move(run)] {
    if (command->get_subcommands().empty()) action = [command, run] { return run(*command); };
  });
  return *command;
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action, SettingsAction* run,
                      SettingsFiles* files) {
  return add_command(parent, name, help, rows, action, [rows, run, files](const CLI::App& command) {
    return carry_out(command, rows, run, files);
  });
}

CLI::App& add_command_group(CLI::App& parent, const std::string& name, const std::string& help) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->require_subcommand(1);
  return *command;
}

void add_default_command(CLI::App& app, const std::string& name, const std::string& help,
                         std::span<const OptionRow> rows, Action& action, SettingsAction* run,
                         SettingsFiles* files) {
  command_rows().emplace_back(&app, rows);
  app.require_subcommand(0, 1);
  app.allow_extras();
  CLI::App* command = app.add_subcommand(name, help);
  command->fallthrough();
  command->set_help_flag();
  command->allow_extras();
  action = [&app, rows, run, files] { return carry_out(app, rows, run, files); };
}

}  // namespace collbench

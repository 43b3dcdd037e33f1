#include "cli/declare.h"

#include <utility>

#include <CLI/CLI.hpp>

namespace collbench {

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action,
                      std::function<int(const CLI::App&)> run) {
  CLI::App* command = parent.add_subcommand(name, help);
  declare_options(*command, rows);
  command->require_subcommand(0, 1);
  command->allow_extras();
  command->callback([command, &action, run = std::move(run)] {
    if (command->get_subcommands().empty()) action = [command, run] { return run(*command); };
  });
  return *command;
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action,
                      int (*run)(const Settings& settings)) {
  return add_command(parent, name, help, rows, action,
                     [rows, run](const CLI::App& command) { return run(Settings(command, rows)); });
}

CLI::App& add_command_group(CLI::App& parent, const std::string& name, const std::string& help) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->require_subcommand(1);
  return *command;
}

void add_default_command(CLI::App& app, const std::string& name, const std::string& help,
                         std::span<const OptionRow> rows, Action& action, Action run) {
  declare_options(app, rows);
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.set_version_flag("--version,-V", std::string(), "print the version");
  CLI::App* command = app.add_subcommand(name, help);
  command->fallthrough();
  command->set_help_flag();
  command->allow_extras();
  action = std::move(run);
}

}  // namespace collbench

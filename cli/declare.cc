#include "cli/declare.h"

#include <utility>

#include <CLI/CLI.hpp>

namespace collbench {
namespace {

/// What CLI11 calls an argument: "ARGS" for "-- ARGS", "FILE" for "FILE...".
std::string name_of(const std::string& shown) {
  const std::string::size_type first = shown.find_first_not_of("- ");
  return shown.substr(first, shown.find_last_not_of('.') - first + 1);
}

template <typename Value>
void declare_argument(CLI::App& command, Value& value, const std::string& shown,
                      const std::string& help, Presence presence) {
  command.add_option(name_of(shown), value, help)
      ->option_text(shown)
      ->group("Arguments")
      ->required(presence == Presence::required);
}

}  // namespace

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      Action& action, Action run) {
  return add_command(parent, name, help, {}, action,
                     [run = std::move(run)](const CLI::App&) { return run(); });
}

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

CLI::App& add_command_group(CLI::App& parent, const std::string& name, const std::string& help) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->require_subcommand(1);
  return *command;
}

void add_default_command(CLI::App& app, const std::string& name, const std::string& help,
                         Action& action, Action run) {
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.set_version_flag("--version,-V", std::string(), "print the version");
  CLI::App* command = app.add_subcommand(name, help);
  command->fallthrough();
  command->set_help_flag();
  command->allow_extras();
  action = std::move(run);
}

void add_option(CLI::App& command, std::string& value, const std::string& names,
                const std::string& metavar, const std::string& help, const std::string& group,
                Presence presence) {
  command.add_option(names, value, help)
      ->option_text(metavar)
      ->group(group)
      ->required(presence == Presence::required);
}

void add_switch(CLI::App& command, bool& value, const std::string& names, const std::string& help,
                const std::string& group) {
  command.add_flag(names, value, help)->group(group);
}

void add_argument(CLI::App& command, std::string& value, const std::string& shown,
                  const std::string& help, Presence presence) {
  declare_argument(command, value, shown, help, presence);
}

void add_argument(CLI::App& command, std::vector<std::string>& values, const std::string& shown,
                  const std::string& help, Presence presence) {
  declare_argument(command, values, shown, help, presence);
}

void set_footer(CLI::App& command, const std::string& text) { command.footer(text); }

}  // namespace collbench

// How commands and their options are declared: the few forms of CLI11 that are used here.
//
// CLI11 takes seconds to compile, so sources that only declare options do not include it.
// Values are filled by the parse and must live as long: the action that a command gets owns them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/settings.h"

namespace collbench {

enum class Presence { optional, required };

/// Declares a command below `parent`. When the parse chooses it, and none of the commands below it,
/// `action` becomes `run`.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      Action& action, Action run);
/// The same for a command with settings: its options are `rows`, and `run` gets what was parsed.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action,
                      std::function<int(const CLI::App&)> run);
/// Declares a command that does nothing by itself: one of those below it must be given.
CLI::App& add_command_group(CLI::App& parent, const std::string& name, const std::string& help);
/// Declares a command whose options stand on `app` itself, because it is what a bare `app` does.
void add_default_command(CLI::App& app, const std::string& name, const std::string& help,
                         Action& action, Action run);

/// An option with a value: "-o,--out", "FILE".
void add_option(CLI::App& command, std::string& value, const std::string& names,
                const std::string& metavar, const std::string& help,
                const std::string& group = "Options", Presence presence = Presence::optional);
void add_switch(CLI::App& command, bool& value, const std::string& names, const std::string& help,
                const std::string& group = "Options");
/// A word without a name, or several; shown as "FILE", "FILE..." or "-- ARGS".
void add_argument(CLI::App& command, std::string& value, const std::string& shown,
                  const std::string& help, Presence presence);
void add_argument(CLI::App& command, std::vector<std::string>& values, const std::string& shown,
                  const std::string& help, Presence presence);

/// Shown below the help of the command.
void set_footer(CLI::App& command, const std::string& text);

}  // namespace collbench

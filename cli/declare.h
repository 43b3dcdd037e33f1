// How commands are declared: a name, a line of help, the rows of their options, what to run.
//
// CLI11 takes seconds to compile, so sources that only declare commands do not include it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "cli/command.h"
#include "cli/settings.h"

namespace collbench {

/// Declares a command below `parent`. When the parse chooses it, and none of the commands below it,
/// `action` becomes `run` with what was parsed. `rows` outlive the parse.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action,
                      std::function<int(const CLI::App&)> run);
/// The same for a command that takes flags alone.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action,
                      int (*run)(const Settings& settings));
/// Declares a command that does nothing by itself: one of those below it must be given.
CLI::App& add_command_group(CLI::App& parent, const std::string& name, const std::string& help);
/// Declares a command whose options stand on `app` itself, because it is what a bare `app` does.
void add_default_command(CLI::App& app, const std::string& name, const std::string& help,
                         std::span<const OptionRow> rows, Action& action, Action run);

/// Shown below the help of the command.
void set_footer(CLI::App& command, const std::string& text);

}  // namespace collbench

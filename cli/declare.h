// How commands are declared: a name, a line of help, the rows of their options, what to run.
//
// Each command is one file with one add_ function; command.cc lists them. Options are declared on
// CLI11's App, and the action chosen by the parse is run after it, so that parsing has no effects.
// CLI11 takes seconds to compile, so sources that only declare commands do not include it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/settings.h"

namespace collbench {

/// What the chosen command does; returns the exit code (docs/exit-codes.md).
using Action = std::function<int()>;

/// Declare one command each below `app` and set `action` when it is chosen. add_run also declares
/// the options of `run` on `app` itself, because a bare `collbench` runs, and sets `action` at
/// once.
using AddCommand = void(CLI::App& app, Action& action);
AddCommand add_run, add_simulate, add_sweep, add_train, add_select, add_merge, add_ab, add_compare,
    add_history, add_report, add_launch, add_calibrate, add_regret, add_validate, add_diagnose,
    add_algos, add_synth, add_tune, add_topo, add_logs, add_profile, add_doctor, add_completion,
    add_help, add_version;

/// After all commands were added: declares the options of every command that an argument names and
/// of those below it, and those of `run` unless another command comes first. Help and completion
/// show, and variables of the environment may set, the options of all commands: then all of them.
void declare_asked_options(CLI::App& app, int argc, char** argv);

/// The options of `collbench algos order`, and what runs it.
std::span<const OptionRow> order_rows();
int show_orders(const Settings& settings);

/// What closes the help of a command, "simulate" or "algos show": a remark where there is one, and
/// its examples. Empty for a command that has other commands below it.
std::string examples_of(std::string_view command);

/// " topo show" of that command, "" of the program itself.
std::string words_of(const CLI::App& command);

/// The commands that have `option`, which is written with its dashes.
std::vector<std::string> commands_with(std::string_view option);

/// "try 'collbench select --help'", with the command that was chosen, and a line end.
std::string usage_hint(const CLI::App& app);

/// The help of the command that was chosen: `app`'s own when none was, or when it is `run`.
std::string help_text(const CLI::App& app, bool brief);

/// Refuses words that no option or command took. Throws InvalidArgument with the nearest name.
void refuse_leftovers(const CLI::App& app);

/// "collbench 0.1.0", and in how many words more: compiler, build type, back ends.
std::string version_text();

/// Adds a command below `parent`, whose options declare_asked_options() declares. When the parse
/// chooses it, and none of the commands below it, `action` becomes `run` with what was parsed.
/// `rows` outlive the parse.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action,
                      std::function<int(const CLI::App&)> run);

/// What a command does with its settings; returns the exit code.
using SettingsAction = int(const Settings& settings);
/// The files of a command's settings, the one that wins first.
using SettingsFiles = std::vector<ConfigLayer>(const CLI::App& app);

/// The same for a command that reads its settings: flags alone, or the environment and `files` too.
/// Flags that it did not read are named in a warning after it.
CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& help,
                      std::span<const OptionRow> rows, Action& action, SettingsAction* run,
                      SettingsFiles* files = nullptr);
/// Declares a command that does nothing by itself: one of those below it must be given.
CLI::App& add_command_group(CLI::App& parent, const std::string& name, const std::string& help);
/// Declares a command whose options stand on `app` itself, because it is what a bare `app` does.
void add_default_command(CLI::App& app, const std::string& name, const std::string& help,
                         std::span<const OptionRow> rows, Action& action, SettingsAction* run,
                         SettingsFiles* files);

}  // namespace collbench

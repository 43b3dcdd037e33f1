// A command of `collbench`: it declares its options and says what to do once they are parsed.
//
// Each command is one file with one add_ function; main.cc lists them. Options are declared on
// CLI11's App, and the action chosen by the parse is run after it, so that parsing has no effects.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace collbench {

/// What the chosen command does; returns the exit code (docs/exit-codes.md).
using Action = std::function<int()>;

/// Declare one command each below `app` and set `action` when it is chosen. add_run also declares
/// the options of `run` on `app` itself, because a bare `collbench` runs, and sets `action` at
/// once.
using AddCommand = void(CLI::App& app, Action& action);
AddCommand add_run, add_simulate, add_sweep, add_train, add_select, add_merge, add_ab, add_compare,
    add_history, add_report, add_launch, add_calibrate, add_regret, add_validate, add_algos,
    add_topo, add_doctor, add_completion, add_help, add_version;

/// The help of the command that was chosen: `app`'s own when none was, or when it is `run`.
std::string help_text(const CLI::App& app);

/// Refuses what no option or command took. Throws InvalidArgument with the nearest name.
void refuse_leftovers(const CLI::App& app);

/// "collbench 0.1.0", and in how many words more: compiler, build type, back ends.
std::string version_text();

}  // namespace collbench

// Which of several workers this process is, for the commands that can be one: options, TF_CONFIG
// and launchers in, the job to join out.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/run_cases.h"
#include "bench/measure/sweep.h"
#include "bench/measure/team.h"
#include "cli/settings.h"
#include "transports/world/joined_world.h"
#include "transports/world/launch_sources.h"

namespace collbench {

/// The options for that, shared by `run` and `train`.
std::span<const OptionRow> worker_option_rows();

/// Nothing if this is the only worker. Throws InvalidArgument naming the option or variable that is
/// wrong, those that contradict each other, and options that only one of several workers takes.
std::optional<LaunchedWorker> launched_here(const Settings& settings, bool with_servers = false);

/// Whether a launcher started this process beside others, whose number is known, and not as the
/// first, for a command that is no work of several: `mpirun -n 4 collbench simulate` prints once.
/// This process then speaks as its rank, and has said so on standard error. Throws as
/// launched_here(), and InvalidArgument for `profile`, which starts the processes itself.
bool another_rank_does(const CLI::App& app);
/// The same for `train` with settings that make it no work of several.
bool another_rank_does(const Settings& settings);
/// For work of one process: throws InvalidArgument, ending in `advice`, if a launcher started this
/// one beside others. TF_CONFIG is left alone, and a note says so.
void require_one_process(const Settings& settings, const std::string& advice);

/// Makes the sweep one of as many workers as there are, and its cases those of processes. Throws
/// InvalidArgument for a back end that starts its workers itself.
void fit_to_workers(const LaunchedWorker& worker, Sweep& sweep);
void fit_to_workers(const LaunchedWorker& worker, const Settings& settings,
                    std::vector<Case>& cases);

/// The job of a worker with all that the other options say. From now on lines on standard error are
/// prefixed with the rank. Throws InvalidArgument naming the option that is wrong, Unavailable for
/// a file that cannot be read.
JoinSpec join_spec_of(const LaunchedWorker& worker, const Settings& settings);

/// Joins the other ranks and fits the plan to the team: its cases are measured by it, all ranks
/// stop together, and the environment names the hosts.
std::shared_ptr<JoinedTeam> join(const JoinSpec& job, RunPlan& plan, Environment& environment);

}  // namespace collbench

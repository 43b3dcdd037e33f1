// The options of a worker that the user starts by hand: which rank this is, where all of them
// listen, and the secret they share.
#pragma once

#include <memory>

#include "bench/remote_team.h"
#include "bench/run_cases.h"
#include "bench/sweep.h"
#include "cli/settings.h"

namespace collbench {

/// Throws InvalidArgument if --rank, --bind or --token-file is given without --hosts.
void refuse_stray_remote_options(const Settings& settings);

/// Makes the sweep one of as many gRPC workers as there are --hosts. Throws InvalidArgument if
/// --workers, --backend or --isolate ask for something else.
void fit_to_hosts(const Settings& settings, Sweep& sweep);

/// The job that --hosts and --rank describe. Throws InvalidArgument naming the option that is
/// wrong.
RemoteJob listed_job_of(const Settings& settings);

/// A job of known ranks, hosts and meeting with all that the other options say. From now on lines
/// on standard error say which rank speaks.
RemoteJob completed(RemoteJob job, const Settings& settings);

/// What the options tell this rank; from now on its lines on standard error say which rank speaks.
/// Throws InvalidArgument naming the option that is wrong, Unavailable for a file that cannot be
/// read.
RemoteJob remote_job_of(const Settings& settings, const Sampling& sampling);

/// Joins the other ranks and fits the plan to the team: its cases are measured by it, all ranks
/// stop together, and the environment names the hosts.
std::shared_ptr<RemoteTeam> join(const RemoteJob& job, RunPlan& plan, Environment& environment);

}  // namespace collbench

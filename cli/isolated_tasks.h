// The workers of `collbench train` in several processes: those that a launcher started, or that
// this command starts on this machine with --isolate.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "transports/world/joined_world.h"
#include "transports/world/launch_sources.h"
#include "transports/world/worker_process.h"

namespace collbench {

/// Ports of the loopback interface that were free a moment ago, all different.
std::vector<int> free_ports(int count);

/// A new secret for this process and those that it starts.
void share_new_token();

/// A process that was started here, and what it is: "rank 1", "ps 0".
struct IsolatedChild {
  std::string name;
  ChildProcess process;
};
/// This process's own command without --isolate, with variables ("NAME=VALUE") of its own. It is
/// killed when this process ends.
IsolatedChild isolated_child(const std::string& name, std::vector<std::string> variables);
/// In a process that isolated_child() has started: sees to that. Else does nothing.
void end_with_launcher();
/// Gives up waiting for them: throws TransportError for the first that has ended, and Stopped.
void require_running(std::vector<IsolatedChild>& children);

/// This process as one of several workers, and those that it has started, which end with it.
struct TrainingWorkers {
  LaunchedWorker self;
  std::vector<IsolatedChild> children;
};

/// As launched_here(): nothing if this is the only worker. Throws as it does.
std::optional<TrainingWorkers> launched_workers(const Settings& settings);
/// Starts ranks 1 and up of as many as --workers on this machine, as processes with this one's
/// command line; this one is rank 0. Throws InvalidArgument where they are launched already.
TrainingWorkers isolated_workers(const Settings& settings);

/// Joins the workers, runs `work` as one of them, and returns what it does once those that were
/// started here have ended. `source` names what started this one.
int join_workers(const Settings& settings, TrainingWorkers workers,
                 const std::function<int(JoinedWorld& world, const std::string& source)>& work);

}  // namespace collbench

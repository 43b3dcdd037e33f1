// `collbench launch`: one worker for each slot of a list of hosts, started through ssh.
//
// Each worker gets its rank and all addresses in flags. The job's secret goes to it on standard
// input, where other users cannot see it, and so do signals: the remote shell passes on the names
// it reads there, and ends the worker when the connection ends. So nothing stays behind when the
// launcher or the network dies.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

/// Where workers are started: what ssh takes ("node0", "user@node0", "[fe80::1]"), and how many.
struct LaunchHost {
  std::string name;
  int slots = 1;
};

/// "a,b:2,user@c". Throws InvalidArgument for what is not HOST or HOST:SLOTS, and for a host that
/// is listed twice.
std::vector<LaunchHost> parse_launch_hosts(const std::string& text);

struct LaunchPlan {
  std::vector<LaunchHost> hosts;
  int first_port = 7101;               // of each host; its next slot has the next port
  std::vector<std::string> ssh;        // called with a host and one command line for a shell
  std::string program;                 // collbench on the hosts
  std::vector<std::string> arguments;  // "run ..." or "train ...", for all alike
  std::string token;                   // one line
  Seconds patience{5};                 // between asking a worker to end and killing it
};

struct LaunchCommand {
  Rank rank = 0;
  std::string host;
  std::vector<std::string> words;
};

/// What is run for each rank. Ranks fill one host after the other. Throws InvalidArgument for
/// arguments that are not of run or train, or that launch gives itself (--hosts, --rank,
/// --token-file), and for ports beyond 65535.
std::vector<LaunchCommand> launch_commands(const LaunchPlan& plan);

/// How a launch ended: exit code 0, or that of the worker that failed first, with a description.
/// Codes that collbench does not use become 5 (4 if there was no such program).
struct LaunchEnd {
  int code = 0;
  std::string failure;
};

struct LaunchHooks {
  /// Receives every line of a rank, and whether it was on standard error.
  std::function<void(Rank rank, bool is_error, const std::string& line)> on_line;
  /// "SIGINT" or "SIGTERM" once that signal is to reach the workers; else "".
  std::function<std::string()> signalled;
};

/// Starts the workers and stays until all have ended. Requires both hooks. When one fails, the
/// others have `patience` to end by themselves, then are sent SIGTERM, and after as long again are
/// killed. Throws Unavailable if ssh cannot be started.
LaunchEnd launch(const LaunchPlan& plan, const LaunchHooks& hooks);

/// `word` as one word of a POSIX shell: in single quotes.
std::string shell_quoted(const std::string& word);

}  // namespace collbench

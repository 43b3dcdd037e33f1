// `collbench launch --hosts A,B -- run ...`: the same command on several machines, through ssh.
#include "transports/world/launch.h"

#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "cli/declare.h"
#include "cli/terminal.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/keyed_digest.h"
#include "core/parse.h"
#include "core/stop_request.h"

namespace collbench {
namespace {

constexpr const char* launch_group = "Where and how";

constexpr OptionRow launch_rows[] = {
    {arguments_group, "ARGS", "", "-- ARGS", "",
     "after --: run or train and its options, the same for all workers", Presence::required},
    {launch_group, "hosts", "", "HOST[:SLOTS][,..]", "",
     "one worker on each, or SLOTS; ranks in this order", Presence::required},
    {launch_group, "port", "", "N", "7101",
     "where a host's first worker listens, the next one above"},
    {launch_group, "program", "", "PATH", "", "collbench on the hosts (the path of this one)"},
    {launch_group, "ssh", "", "CMD", "ssh -o BatchMode=yes",
     "command that is called with a host and a command line"},
};

std::vector<std::string> words_of(const std::string& text) {
  const std::vector<std::string_view> words = split_at_blanks(text);
  require(!words.empty(), "--ssh: an empty command");
  return {words.begin(), words.end()};
}

/// The caller's secret for all its runs, else one of this job.
std::string token_of_job() {
  std::string text = environment_variable("COLLBENCH_JOB_TOKEN");
  if (text.empty()) text = random_digits();
  require(text.find('\n') == std::string::npos, "COLLBENCH_JOB_TOKEN: must be one line");
  return text;
}

/// Rank 0's lines as they are, the others' prefixed with their rank. Workers of collbench add the
/// prefix themselves; ssh and the shell do not.
void show_line(Rank rank, bool is_error, const std::string& line) {
  const std::string prefix = fmt::format("[rank {}] ", rank);
  const bool bare = rank == 0 || line.starts_with(prefix);
  (is_error ? std::cerr : std::cout) << (bare ? "" : prefix) << line << std::endl;
}

int launch_workers(const Settings& settings) {
  LaunchPlan plan;
  plan.hosts = parse_launch_hosts(settings.text("hosts"));
  plan.first_port = settings.count("port", 1, 65'535);
  plan.ssh = words_of(settings.text("ssh"));
  plan.program = settings.given("program")
                     ? settings.text("program")
                     : std::filesystem::read_symlink("/proc/self/exe").string();
  plan.arguments = settings.words("ARGS");
  plan.token = token_of_job();
  watch_stop_signals();
  const LaunchEnd end = launch(plan, {show_line, stop_signal_name});
  if (end.code != 0) std::cerr << fmt::format("{}{}\n", error_prefix(), end.failure);
  return end.code;
}

}  // namespace

void add_launch(CLI::App& app, Action& action) {
  add_command(app, "launch", "start the workers of a run on several machines, through ssh",
              launch_rows, action, launch_workers);
}

}  // namespace collbench

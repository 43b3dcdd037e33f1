#include "cli/isolated_tasks.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/remote.h"
#include "cli/train_options.h"
#include "core/descriptor.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/keyed_digest.h"
#include "core/parse.h"
#include "core/stop_request.h"
#include "transports/listening.h"

namespace collbench {
namespace {

constexpr const char* launcher_variable = "COLLBENCH_PARENT";  // whose value is its process

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    if (!word.starts_with("--isolate")) words.push_back(word);
  }
  if (words.empty()) throw Unavailable("--isolate needs /proc/self/cmdline");
  words[0] = "/proc/self/exe";
  return words;
}

}  // namespace

std::vector<int> free_ports(int count) {
  std::vector<Descriptor> listeners;  // open until all are chosen, so that they differ
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) {
    std::string failure;
    std::vector<Descriptor> found = listen_at({"127.0.0.1", 0}, failure);
    if (found.empty()) throw TransportError("no free port on the loopback interface: " + failure);
    ports.push_back(port_of(found.front()));
    listeners.push_back(std::move(found.front()));
  }
  return ports;
}

void share_new_token() { setenv("COLLBENCH_JOB_TOKEN", random_digits().c_str(), 1); }

IsolatedChild isolated_child(const std::string& name, std::vector<std::string> variables) {
  variables.emplace_back("COLLBENCH_ISOLATE=false");
  variables.push_back(fmt::format("{}={}", launcher_variable, getpid()));
  return {name, {own_command(), variables, only_errors_shown}};
}

void end_with_launcher() {
  const std::string launcher = environment_variable(launcher_variable);
  if (launcher.empty()) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(getppid()) != launcher) _exit(exit_failed);  // it has ended already
}

void require_running(std::vector<IsolatedChild>& children) {
  leave_if_stopped();
  for (IsolatedChild& child : children) {
    if (const auto end = child.process.ended()) {
      throw TransportError(fmt::format("{} {} before it joined the others", child.name, *end));
    }
  }
}

std::optional<TrainingWorkers> launched_workers(const Settings& settings) {
  const std::optional<LaunchedWorker> worker = launched_here(settings);
  if (!worker) return std::nullopt;
  return TrainingWorkers{*worker, {}};
}

TrainingWorkers isolated_workers(const Settings& settings) {
  require(!launched_here(settings),
          "--isolate starts the workers itself; --hosts, TF_CONFIG or a "
          "launcher has already named them");
  const auto workers = settings.count("workers", 1, 512);
  const int port = free_ports(1)[0];
  share_new_token();
  TrainingWorkers all{{"--isolate", 0, workers, {}, fmt::format("127.0.0.1:{}", port), false}, {}};
  for (int rank = 1; rank < workers; ++rank) {
    all.children.push_back(
        isolated_child(fmt::format("rank {}", rank),
                       {fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", workers),
                        "MASTER_ADDR=127.0.0.1", fmt::format("MASTER_PORT={}", port - 1)}));
  }
  return all;
}

int join_workers(const Settings& settings, TrainingWorkers workers,
                 const std::function<int(JoinedWorld& world, const std::string& source)>& work) {
  JoinSpec job = join_spec_of(workers.self, settings);
  job.while_waiting = [&workers] { require_running(workers.children); };
  int code = exit_ok;
  {
    JoinedWorld world(job);
    // --isolate passes ranks to its processes in torchrun's variables and is off in them.
    code = work(world, settings.given("isolate") ? "--isolate" : workers.self.source);
  }  // left first: the others end once all have left
  for (IsolatedChild& child : workers.children) {
    child.process.ended_within(settings.duration("timeout"));
  }
  return code;
}

}  // namespace collbench

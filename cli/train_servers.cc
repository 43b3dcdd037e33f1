// `parameter-server`: asynchronous workers and servers, as threads of this process, or this process
// as one task of many.

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/exit_code.h"
#include "cli/isolated_tasks.h"
#include "cli/remote.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "cli/train_runs.h"
#include "cli/train_session.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"
#include "core/stop_request.h"
#include "training/asynchronous/parameter_server.h"
#include "training/asynchronous/remote_coordinator.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

/// The task of one process of a run.
struct Task {
  std::string type;  // "chief", "worker", "ps"
  int index = 0;
  JoinSpec job;
  ServerRun run;
};

void refuse_other_options(const Settings& settings) {
  for (const char* name : {"algo", "communication", "wire", "devices", "hosts", "trace", "buckets",
                           "no-overlap", "transport"}) {
    require(!settings.given(name),
            fmt::format("{} is not for parameter-server", settings.label(name)));
  }
  require(!settings.given("sharding"),
          fmt::format("{}: the servers of parameter-server hold parameters and optimizer already, "
                      "each a part",
                      settings.label("sharding")));
}

TrainingPlan server_plan_of(const Settings& settings) {
  TrainingPlan plan = plan_of(settings);
  plan.replicas = settings.count("replicas", 1, 512);
  return plan;
}

/// Prints what the workers of a finished run have done; returns the exit code.
int report_servers(const Settings& settings, const TrainingPlan& plan, const Backend& backend,
                   const Samples& samples, TrainSession& session, ServerReport& report) {
  ReplicaReport all = report.workers[0];
  for (std::size_t i = 1; i < report.workers.size(); ++i) {
    const auto& steps = report.workers[i].steps;
    all.steps.insert(all.steps.end(), steps.begin(), steps.end());
  }
  const int code = session.finish(all, 0);
  const bool trained = !all.steps.empty();         // else the checkpoint was of the last step
  all.steps = std::move(report.workers[0].steps);  // the rest is the same, whichever is the first
  report.workers[0] = std::move(all);
  report_training(settings, plan, samples, {"none", backend.name, "", false, plan.replicas},
                  report.workers,
                  {{"servers", static_cast<double>(report.server_bytes.size())},
                   {"mean_staleness", report.mean_staleness},
                   {"most_staleness", static_cast<double>(report.most_staleness)},
                   {"repeated_steps", static_cast<double>(report.repeated)}});
  if (settings.text("json") == "-" || !trained) return code;
  std::cout << fmt::format(
      "# updates by others between reading and updating: {:.2f} on average, {} "
      "at most; bytes on each server: {}\n",
      report.mean_staleness, report.most_staleness, fmt::join(report.server_bytes, ", "));
  if (report.repeated > 0) {
    std::cout << fmt::format("# steps of lost workers that others took over: {}\n",
                             report.repeated);
  }
  return code;
}

int train_server_threads(const Settings& settings) {
  const TrainingPlan plan = server_plan_of(settings);
  const auto workers = settings.count("workers", 1, 512);
  const auto servers = settings.count("servers", 1, 512);
  require_backend(settings, usual_backend(), "threads of parameter-server");
  TrainSession session(settings, plan, true);
  const Samples samples = session.prepare();
  ServerReport report = train_parameter_server(plan, workers, servers, samples.train,
                                               samples.held_out, session.hooks());
  return report_servers(settings, plan, usual_backend(), samples, session, report);
}

std::unique_ptr<CallNetwork> network_of(const JoinSpec& job) {
  const Backend& backend = remote_backend();
  if (backend.call_network == nullptr) {
    throw Unavailable(fmt::format("tasks in several processes need the back end '{}': {}",
                                  backend.name, backend.unavailable));
  }
  const JobSecurity security{job.token, job.tls};
  require_secure(security, job.hosts);
  require_secure(security, {&job.listen, 1});
  return backend.call_network({security, job.timeout});
}

std::vector<NamedValue> agreed_values(const Settings& settings, const TrainingPlan& plan,
                                      const Samples& samples) {
  std::vector<NamedValue> values = values_of(settings, plan, samples);
  std::erase_if(values, [](const auto& row) {  // what only the chief does
    return row.first == "checkpoint" || row.first == "save-every" || row.first == "resume";
  });
  return values;
}

int run_chief(const Settings& settings, const Task& task) {
  const TrainingPlan plan = server_plan_of(settings);
  TrainSession session(settings, plan, true);
  const Samples samples = session.prepare();
  const auto network = network_of(task.job);
  ServerReport report =
      coordinate(plan, task.run, agreed_values(settings, plan, samples), samples.train,
                 samples.held_out, session.hooks(), *network, task.job.listen);
  return report_servers(settings, plan, remote_backend(), samples, session, report);
}

int run_worker(const Settings& settings, const Task& task) {
  TrainingPlan plan;
  Samples samples;
  std::vector<NamedValue> values;
  std::string unfit;
  std::exception_ptr failure;
  try {
    plan = server_plan_of(settings);
    samples = samples_of(settings, plan);
    check(plan, samples.train, plan.replicas);
    values = agreed_values(settings, plan, samples);
  } catch (const std::exception& error) {
    unfit = error.what();
    failure = std::current_exception();
  }
  const auto network = network_of(task.job);
  std::int64_t steps = 0;
  try {
    steps = work_for_chief(plan, task.run, task.index, values, unfit, samples.train, *network,
                           [] { return !stop_signal_name().empty(); });
  } catch (const TransportError&) {
    if (failure) std::rethrow_exception(failure);  // the chief only repeats it
    throw;
  }
  std::cerr << fmt::format("{}carried out {} steps as worker {} of {}; the chief has the figures\n",
                           speaker(), steps, task.index, task.run.workers.size());
  return stop_signal_name().empty() ? exit_ok : interrupt_exit_code();
}

int run_server(const Task& task) {
  const auto network = network_of(task.job);
  VariableService service;
  const auto server = network->listen(task.job.listen, handlers_of(service));
  service.wait_until_finished(task.job.timeout, [] { return !stop_signal_name().empty(); });
  if (!stop_signal_name().empty()) return interrupt_exit_code();
  std::cerr << fmt::format("{}served to the end as ps {} of {}\n", speaker(), task.index,
                           task.run.servers.size());
  return exit_ok;
}

Task task_of(const LaunchedWorker& self, const Settings& settings) {
  Task task;
  task.job = join_spec_of(self, settings);
  task.run.timeout = task.job.timeout;
  task.run.say = [](const std::string& text) {
    std::cerr << fmt::format("{}collbench: {}\n", speaker(), text);
  };
  task.run.chief = {"chief", self.hosts[0]};
  for (int rank = 1; rank < self.ranks; ++rank) {
    const bool worker = rank <= self.workers();
    const int index = worker ? rank - 1 : rank - 1 - self.workers();
    auto& tasks = worker ? task.run.workers : task.run.servers;
    tasks.push_back({fmt::format("{} {}", worker ? "worker" : "ps", index),
                     self.hosts[static_cast<std::size_t>(rank)]});
    if (rank != self.rank) continue;
    task.type = worker ? "worker" : "ps";
    task.index = index;
  }
  const bool chief = self.rank == 0;
  if (chief) task.type = "chief";
  speak_as(chief ? "chief" : fmt::format("{} {}", task.type, task.index), chief);
  return task;
}

int run_task(const LaunchedWorker& self, const Settings& settings,
             std::vector<IsolatedChild> children = {}) {
  Task task = task_of(self, settings);
  task.run.while_waiting = [&children] { require_running(children); };
  watch_stop_signals();
  if (task.type == "chief") {
    const int code = run_chief(settings, task);
    for (IsolatedChild& child : children) child.process.ended_within(Seconds{10});
    return code;
  }
  return task.type == "worker" ? run_worker(settings, task) : run_server(task);
}

/// Refuses options that contradict the tasks which have been named.
void require_tasks(const LaunchedWorker& self, const Settings& settings) {
  require(!settings.flag("isolate"),
          fmt::format("--isolate starts the tasks itself; {} has already named them", self.source));
  require(
      !settings.given("servers") || settings.count("servers", 1, 512) == self.servers,
      fmt::format("{} is {}, but TF_CONFIG names {}; it can be left out", settings.label("servers"),
                  settings.text("servers"), counted(self.servers, "server")));
}

/// Starts workers and servers here; this process is the chief.
int run_isolated(const Settings& settings) {
  const auto workers = settings.count("workers", 1, 512);
  const auto servers = settings.count("servers", 1, 512);
  std::vector<std::string> hosts;
  for (const int port : free_ports(1 + workers + servers)) {
    hosts.push_back(fmt::format("127.0.0.1:{}", port));
  }
  const auto first_worker = hosts.begin() + 1;
  const nlohmann::json cluster{
      {"chief", {hosts[0]}},
      {"worker", std::vector<std::string>(first_worker, first_worker + workers)},
      {"ps", std::vector<std::string>(first_worker + workers, hosts.end())}};
  share_new_token();
  std::vector<IsolatedChild> children;
  for (const auto& [type, count] : {std::pair{"ps", servers}, std::pair{"worker", workers}}) {
    for (int index = 0; index < count; ++index) {
      const nlohmann::json config{{"cluster", cluster},
                                  {"task", {{"type", type}, {"index", index}}}};
      children.push_back(
          isolated_child(fmt::format("{} {}", type, index), {"TF_CONFIG=" + json_text(config)}));
    }
  }
  LaunchedWorker chief{"--isolate", 0, static_cast<int>(hosts.size()), hosts, hosts[0]};
  chief.servers = servers;
  return run_task(chief, settings, std::move(children));
}

}  // namespace

int train_servers(const Settings& settings) {
  refuse_other_options(settings);
  const std::optional<LaunchedWorker> self = launched_here(settings, true);
  if (!self && !settings.flag("isolate")) return train_server_threads(settings);
  if (self && self->evaluator) {
    return evaluate_checkpoints(settings, settings.count("replicas", 1, 512));
  }
  require_backend(settings, remote_backend(), "tasks in several processes");
  if (!self) return run_isolated(settings);
  require_tasks(*self, settings);
  return run_task(*self, settings);
}

}  // namespace collbench

#include "cli/remote.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

#include "cli/terminal.h"
#include "core/descriptor.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/host_port.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/stop_request.h"
#include "transports/job_security.h"
#include "transports/listening.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr const char* on_several_machines =
    "Workers on several machines (one command for each; docs/launching.md)";

constexpr OptionRow worker_rows[] = {
    {on_several_machines, "hosts", "", "H:PORT,..", "",
     "where every worker listens, by rank: a:7101,[::1]:7101"},
    {on_several_machines, "rank", "", "R", "",
     "rank of this worker, from 0; a launcher may set it"},
    {on_several_machines, "meet", "", "H:PORT", "",
     "instead of --hosts: where worker 0 meets the others"},
    {on_several_machines, "launcher", "", "NAME", "auto",
     "launchers to trust: auto (all), none, torchrun, slurm ..."},
    {on_several_machines, "bind", "", "ADDRESS", "",
     "listen at this address instead of this worker's host"},
    {on_several_machines, "interface", "", "NAME", "",
     "listen at the address of this interface, such as eth0"},
    {on_several_machines, "token-file", "", "FILE", "",
     "the job's secret (or COLLBENCH_JOB_TOKEN), needed beyond loopback"},
    {on_several_machines, "tls-ca", "", "FILE", "",
     "use TLS: certificate of the authority, in PEM"},
    {on_several_machines, "tls-cert", "", "FILE", "", "this worker's certificate, with its chain"},
    {on_several_machines, "tls-key", "", "FILE", "", "private key of that certificate"},
    {on_several_machines, "tls-name", "", "NAME", "",
     "name in all certificates, if it is not the host's"},
    {on_several_machines, "tls-callers", "", "WHO", "certified",
     "certified: callers need a certificate (mutual TLS); any"},
};

std::vector<std::string> hosts_of(const Settings& settings) {
  const std::string label = settings.label("hosts");
  std::vector<std::string> hosts = settings.list("hosts");
  for (auto host = hosts.begin(); host != hosts.end(); ++host) {
    parse_host_port(label, *host);
    require(std::find(hosts.begin(), host, *host) == host,
            fmt::format("{}: '{}' is listed twice; every worker needs an address of its own", label,
                        *host));
  }
  return hosts;
}

const char* variable_here(const char* name) { return std::getenv(name); }

LaunchFacts facts_of(const Settings& settings) {
  LaunchFacts facts;
  facts.environment = variable_here;
  facts.host_name = full_host_name;
  facts.launcher = settings.text("launcher");
  facts.hosts = hosts_of(settings);
  if (settings.given("rank")) {
    const std::int64_t last = facts.hosts.empty() ? 1 << 20 : std::ssize(facts.hosts) - 1;
    facts.rank = settings.count("rank", 0, last);
  }
  if (settings.given("workers")) {
    const auto counts = settings.worker_counts("workers");
    if (counts.size() == 1) facts.workers = counts.front();
  }
  if (settings.given("meet")) {
    facts.bootstrap = to_string(parse_host_port(settings.label("meet"), settings.text("meet")));
  }
  return facts;
}

/// Every address of this machine, of both kinds where there is IPv6: which kind leads to the
/// meeting is not told by the name of a host.
const char* every_address() {
  const Descriptor ipv6(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ipv6.number() >= 0 ? "::" : "0.0.0.0";
}

/// The host at which to listen: as given, else the worker's own, else where the bootstrap is
/// reached.
std::string listening_host(const LaunchedWorker& worker, const Settings& settings) {
  require(!settings.given("bind") || !settings.given("interface"),
          "--bind and --interface both set the address to listen at; leave one out");
  const std::string bootstrap = parse_host_port("the meeting", worker.bootstrap).host;
  const bool ipv6 = bootstrap.find(':') != std::string::npos;
  if (settings.given("interface")) return address_of_interface(settings.text("interface"), ipv6);
  if (settings.given("bind")) {
    std::string host = settings.text("bind");
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return host;
  }
  if (!worker.hosts.empty()) {
    return parse_host_port("the own host", worker.hosts[static_cast<std::size_t>(worker.rank)])
        .host;
  }
  return is_loopback(bootstrap) ? bootstrap : every_address();
}

std::string text_of_file(const Settings& settings, const char* option) {
  const std::string text = read_file(settings.text(option));
  require(!text.empty(),
          fmt::format("{}: the file '{}' is empty", settings.label(option), settings.text(option)));
  return text;
}

std::string token_of(const Settings& settings) {
  if (!settings.given("token-file")) return environment_variable("COLLBENCH_JOB_TOKEN");
  std::string token = text_of_file(settings, "token-file");
  token.erase(token.find_last_not_of("\r\n") + 1);
  require(!token.empty(), fmt::format("{}: the file '{}' holds no token",
                                      settings.label("token-file"), settings.text("token-file")));
  return token;
}

std::string pem_of(const Settings& settings, const char* option, const char* what) {
  if (!settings.given(option)) return "";
  std::string text = text_of_file(settings, option);
  const std::size_t begin = text.find("-----BEGIN ");
  const std::size_t kind = begin == std::string::npos ? begin : text.find(what, begin);
  require(kind != std::string::npos,
          fmt::format("{}: the file '{}' holds no {} in PEM", settings.label(option),
                      settings.text(option), what));
  return text;
}

/// From --token-file or COLLBENCH_JOB_TOKEN, and the files of --tls-ca, --tls-cert and --tls-key. A
/// secret comes from a file or the environment, never from a command line, which every user of the
/// machine can see; and it is no setting, so it is in no record and no dumped configuration.
JobSecurity security_of(const Settings& settings) {
  JobSecurity security;
  security.token = token_of(settings);
  TlsTexts& tls = security.tls;
  tls.ca = pem_of(settings, "tls-ca", "CERTIFICATE");
  tls.certificate = pem_of(settings, "tls-cert", "CERTIFICATE");
  tls.key = pem_of(settings, "tls-key", "PRIVATE KEY");
  tls.name = settings.text("tls-name");
  tls.mutual = settings.one_of("tls-callers", {"certified", "any"}) == "certified";
  require(tls.used() || (!settings.given("tls-name") && !settings.given("tls-callers")),
          "--tls-name and --tls-callers need --tls-ca, --tls-cert and --tls-key");
  return security;
}

/// An index alone, as of a job's pods, says nothing of others that do the same work.
bool is_one_of_several(const std::optional<LaunchedWorker>& place) {
  return place && place->ranks > 0;
}

/// Whether `command` is for rank 0 to carry out and this is another; it says so on standard error.
bool left_to_rank_0(const std::optional<LaunchedWorker>& place, std::string_view command) {
  if (!is_one_of_several(place) || place->rank == 0) return false;
  speak_as_rank(place->rank);
  std::cerr << fmt::format(
      "{}collbench: rank 0 of {} (by {}) carries out '{}', this one does not; without the "
      "variables "
      "of the launcher it would\n",
      speaker(), place->ranks, place->source, command);
  return true;
}

}  // namespace

std::span<const OptionRow> worker_option_rows() { return worker_rows; }

bool another_rank_does(const CLI::App& app) {
  constexpr std::array<std::string_view, 6> of_each_process = {"run",    "train", "sweep",
                                                               "launch", "help",  "doctor"};
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string name = chosen.empty() ? "run" : chosen.front()->get_name();
  if (std::ranges::find(of_each_process, name) != of_each_process.end()) return false;
  LaunchFacts facts;
  facts.environment = variable_here;
  const std::optional<LaunchedWorker> place = launched_rank(facts);
  require(name != "profile" || !is_one_of_several(place),
          fmt::format("{} started this process as rank {} of {}, and profile starts the program "
                      "itself: put the launcher behind --, as in collbench profile -- mpirun -n {} "
                      "./app",
                      place ? place->source : "", place ? place->rank : 0, place ? place->ranks : 0,
                      place ? place->ranks : 0));
  return left_to_rank_0(place, name);
}

bool another_rank_does(const Settings& settings) {
  LaunchFacts facts;
  facts.environment = variable_here;
  facts.launcher = settings.text("launcher");
  return left_to_rank_0(launched_rank(facts), "train");
}

void require_one_process(const Settings& settings, const std::string& advice) {
  static constexpr std::string_view tf_config = "TF_CONFIG";
  LaunchFacts facts;
  facts.environment = [](const char* name) {
    return name == tf_config ? nullptr : std::getenv(name);
  };
  facts.launcher = settings.text("launcher");
  if (facts.launcher == "tf-config") facts.launcher = "none";
  const std::optional<LaunchedWorker> place = launched_rank(facts);
  require(!place, fmt::format("{} started this process as rank {} of several; {}",
                              place ? place->source : "", place ? place->rank : 0, advice));
  if (facts.launcher == "none" || std::getenv(tf_config.data()) == nullptr) return;
  std::cerr << fmt::format("collbench: {} is not used, as in TensorFlow; {}\n", tf_config, advice);
}

std::optional<LaunchedWorker> launched_here(const Settings& settings, bool with_servers) {
  LaunchFacts facts = facts_of(settings);
  facts.with_servers = with_servers;
  std::optional<LaunchedWorker> worker = launched_worker(facts);
  if (!worker) {
    for (const char* name : {"bind", "interface", "token-file", "tls-ca", "tls-cert", "tls-key",
                             "tls-name", "tls-callers"}) {
      require(!settings.given(name),
              fmt::format("{} needs --hosts, the HOST:PORT of every worker, or a launcher",
                          settings.label(name)));
    }
    return worker;
  }
  if (worker->evaluator || !settings.given("workers")) return worker;
  require(
      settings.worker_counts("workers") == std::vector<int>{worker->workers()},
      fmt::format("{} is {}, but {} names {}; it can be left out", settings.label("workers"),
                  settings.text("workers"), worker->source, counted(worker->workers(), "worker")));
  return worker;
}

void fit_to_workers(const LaunchedWorker& worker, Sweep& sweep) {
  require(!worker.evaluator,
          "TF_CONFIG makes this task the evaluator, which only 'collbench train' has");
  sweep.workers = {worker.ranks};
  // Ranks on one machine share its memory, as MPI's do; else messages.
  sweep.usual = worker.one_machine ? usual_backend().name : remote_backend().name;
}

void fit_to_workers(const LaunchedWorker& worker, const Settings& settings,
                    std::vector<Case>& cases) {
  for (Case& point : cases) {
    const Backend& backend = find_backend(point.backend);
    require(joins_others(backend),
            fmt::format(
                "{}: '{}' starts its workers itself; they cannot be those that were started "
                "one by one (this is worker {} of {}, by {})",
                settings.label("algo"), backend.name, worker.rank, worker.ranks, worker.source));
    point.isolate = backend.isolates;  // each is a process
  }
}

JoinSpec join_spec_of(const LaunchedWorker& worker, const Settings& settings) {
  speak_as_rank(worker.rank);
  JoinSpec job;
  job.backend = remote_backend().name;
  job.source = worker.source;
  job.rank = worker.rank;
  job.hosts = worker.hosts;
  job.hosts.resize(static_cast<std::size_t>(worker.ranks));
  if (worker.hosts.empty()) job.bootstrap = worker.bootstrap;
  const std::string& own = job.hosts[static_cast<std::size_t>(job.rank)];
  const int port = own.empty() ? 0 : parse_host_port("the own host", own).port;
  const std::string host = listening_host(worker, settings);
  job.listen = to_string(HostPort{host, port});
  const bool told = settings.given("bind") || settings.given("interface");
  if (told && host != "0.0.0.0" && host != "::") job.reached_at = host;
  job.transport = settings.text("transport");
  const JobSecurity security = security_of(settings);
  job.token = security.token;
  job.tls = security.tls;
  job.timeout = settings.duration("timeout");
  job.while_waiting = leave_if_stopped;
  job.on_waiting = [](const std::string& text) {
    std::cerr << fmt::format("{}collbench: {}\n", speaker(), text);
  };
  return job;
}

std::shared_ptr<JoinedTeam> join(const JoinSpec& job, RunPlan& plan, Environment& environment) {
  auto team = std::make_shared<JoinedTeam>(job);
  team->compare_plans(plan.cases, plan.sampling, plan.cycles);
  // Only now do all ranks have the same cases, so that none waits for one that refuses.
  for (const Case& point : plan.cases) require_possible(point);
  environment["launcher"] = job.source;
  environment["hosts"] = fmt::format("{}", fmt::join(team->world().hosts(), ","));
  environment["nodes"] = std::to_string(team->world().nodes());
  environment["clock"] = team->world().one_machine() ? "one" : "one per machine";
  plan.cores = team->world().processors();
  plan.bound = [](const Case&, const Measurement&) { return std::optional<Bound>(); };
  plan.make = [team](const Case&, const Sampling&) { return team; };
  plan.stop_requested = [team, asked = plan.stop_requested] {
    return team->world().agree_to_stop(asked());
  };
  return team;
}

}  // namespace collbench

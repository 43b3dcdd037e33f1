#include "cli/remote.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

#include "cli/config_file.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "core/error.h"

namespace collbench {
namespace {

std::string port_of(const std::string& address) { return address.substr(address.rfind(':') + 1); }

std::vector<std::string> hosts_of(const Settings& settings) {
  const std::string label = settings.label("hosts");
  std::vector<std::string> hosts = parse_list(label, settings.text("hosts"));
  for (auto host = hosts.begin(); host != hosts.end(); ++host) {
    const std::size_t colon = host->rfind(':');
    require(colon != std::string::npos && colon > 0,
            fmt::format("{}: '{}' is not HOST:PORT", label, *host));
    parse_count(fmt::format("{}: the port of '{}'", label, *host), port_of(*host), 1, 65'535);
    require(std::find(hosts.begin(), host, *host) == host,
            fmt::format("{}: '{}' is there twice; every worker needs an address of its own", label,
                        *host));
  }
  return hosts;
}

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// From the file or the environment; both are out of sight of other users, a command line is not.
std::string token_of(const Settings& settings) {
  const std::string label = settings.label("token-file");
  if (settings.given("token-file")) {
    const std::string token = without_line_end(read_text_file(settings.text("token-file")));
    require(!token.empty(),
            fmt::format("{}: the file '{}' is empty", label, settings.text("token-file")));
    return token;
  }
  const char* token = std::getenv("COLLBENCH_JOB_TOKEN");
  return token == nullptr ? "" : token;
}

}  // namespace

void refuse_stray_remote_options(const Settings& settings) {
  if (settings.given("hosts")) return;
  for (const char* name : {"rank", "bind", "token-file"}) {
    require(!settings.given(name),
            fmt::format("{} needs --hosts, the HOST:PORT of every worker", settings.label(name)));
  }
}

void fit_to_hosts(const Settings& settings, Sweep& sweep) {
  const auto workers = static_cast<int>(hosts_of(settings).size());
  require(!settings.given("workers") || sweep.workers == std::vector<int>{workers},
          fmt::format("{} is {}, but {} names {} workers; it can be left out",
                      settings.label("workers"), settings.text("workers"), settings.label("hosts"),
                      workers));
  require(!settings.given("backend") || sweep.backends == std::vector<std::string>{"grpc"},
          fmt::format("{}: only grpc has workers on several machines, not '{}'",
                      settings.label("backend"), settings.text("backend")));
  require(!sweep.common.isolate, "--isolate and --private-buffers are for shm, --hosts for grpc");
  sweep.workers = {workers};
  sweep.backends = {"grpc"};
}

RemoteJob listed_job_of(const Settings& settings) {
  RemoteJob job;
  job.hosts = hosts_of(settings);
  require(settings.given("rank"), "--hosts needs --rank, this process's place in it from 0");
  job.rank = static_cast<Rank>(
      parse_count(settings.label("rank"), settings.text("rank"), 0, job.ranks() - 1));
  return completed(std::move(job), settings);
}

RemoteJob completed(RemoteJob job, const Settings& settings) {
  speak_as_rank(job.rank);
  job.backend = "grpc";
  if (job.meeting.empty()) {
    const std::string& own = job.hosts[static_cast<std::size_t>(job.rank)];
    job.listen =
        settings.given("bind") ? fmt::format("{}:{}", settings.text("bind"), port_of(own)) : own;
  } else {
    const bool local = job.meeting.starts_with("127.") || job.meeting.starts_with("localhost:");
    job.listen = settings.given("bind") ? settings.text("bind") : local ? "127.0.0.1" : "0.0.0.0";
    job.listen += ":0";
  }
  job.transport = settings.text("transport");
  job.token = token_of(settings);
  job.timeout = parse_duration(settings.label("timeout"), settings.text("timeout"));
  job.on_waiting = [](const std::string& text) {
    std::cerr << fmt::format("{}collbench: {}\n", speaker(), text);
  };
  return job;
}

RemoteJob remote_job_of(const Settings& settings, const Sampling& sampling) {
  RemoteJob job = listed_job_of(settings);
  job.pin = sampling.pin;
  job.cpus = sampling.cpus;
  return job;
}

std::shared_ptr<RemoteTeam> join(const RemoteJob& job, RunPlan& plan, Environment& environment) {
  auto team = std::make_shared<RemoteTeam>(job);
  team->compare_plans(plan.cases, plan.sampling, plan.cycles);
  environment["hosts"] = fmt::format("{}", fmt::join(job.hosts, ","));
  environment["clock"] = team->one_machine() ? "one" : "one per machine";
  plan.cores = team->processors();
  plan.bound = [](const Case&, const Measurement&) { return std::optional<Bound>(); };
  plan.make = [team](const Case&, const Sampling&) { return team; };
  plan.stop_requested = [team, asked = plan.stop_requested] {
    return team->agree_to_stop(asked());
  };
  return team;
}

}  // namespace collbench

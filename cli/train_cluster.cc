#include "cli/train_cluster.h"

#include <cstdlib>
#include <fstream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "bench/launch_environment.h"
#include "bench/line_socket.h"
#include "bench/tf_config.h"
#include "cli/remote.h"
#include "cli/train_options.h"
#include "core/error.h"

namespace collbench {
namespace {

const char* variable(const char* name) { return std::getenv(name); }

std::optional<TrainCluster> tf_config_cluster(const Settings& settings) {
  const char* text = variable("TF_CONFIG");
  if (text == nullptr) return std::nullopt;
  const MirroredPlace place = mirrored_place(parse_tf_config(text));
  TrainCluster cluster;
  cluster.source = "TF_CONFIG";
  cluster.evaluator = place.evaluator;
  if (place.evaluator) return cluster;
  if (place.hosts.size() < 2) return std::nullopt;
  cluster.job.rank = place.rank;
  cluster.job.hosts = place.hosts;
  cluster.job = completed(std::move(cluster.job), settings);
  return cluster;
}

TrainCluster launched_cluster(const LaunchedWorker& worker, const Settings& settings) {
  TrainCluster cluster;
  // --isolate tells its processes by torchrun's variables, and overrides itself for them.
  cluster.source = settings.given("isolate") ? "--isolate" : worker.source;
  cluster.job.rank = worker.rank;
  cluster.job.hosts.resize(static_cast<std::size_t>(worker.ranks));
  cluster.job.meeting = worker.meeting;
  cluster.job = completed(std::move(cluster.job), settings);
  return cluster;
}

void require_consistent(const TrainCluster& cluster, const LaunchedWorker& worker) {
  require(
      cluster.evaluator || (cluster.job.rank == worker.rank && cluster.job.ranks() == worker.ranks),
      fmt::format("{} says rank {} of {}, {} says rank {} of {}; unset the variables of one",
                  cluster.source, cluster.job.rank, cluster.job.ranks(), worker.source, worker.rank,
                  worker.ranks));
}

std::optional<TrainCluster> find_cluster(const Settings& settings) {
  if (settings.given("hosts")) return TrainCluster{"--hosts", listed_job_of(settings), false};
  const std::optional<LaunchedWorker> launched = launched_worker(variable);
  std::optional<TrainCluster> cluster = tf_config_cluster(settings);
  if (cluster && launched && launched->ranks > 1) require_consistent(*cluster, *launched);
  if (cluster || !launched || launched->ranks == 1) return cluster;
  return launched_cluster(*launched, settings);
}

/// A port that was free a moment ago, and the one below it, for the meeting of isolated workers.
int free_port() {
  const LineSocket probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(probe.descriptor(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(probe.descriptor(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw TransportError("no free port on the loopback interface");
  }
  return ntohs(address.sin_port);
}

/// This process's own command without --isolate.
std::vector<std::string> worker_command() {
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

std::optional<TrainCluster> train_cluster(const Settings& settings) {
  std::optional<TrainCluster> cluster = find_cluster(settings);
  if (!cluster || cluster->evaluator || !settings.given("workers")) return cluster;
  require(count_of(settings, "workers", 1) == cluster->job.ranks(),
          fmt::format("{} is {}, but {} names {} workers; it can be left out",
                      settings.label("workers"), settings.text("workers"), cluster->source,
                      cluster->job.ranks()));
  return cluster;
}

TrainCluster isolated_cluster(const Settings& settings, std::vector<ChildProcess>& children) {
  require(!find_cluster(settings),
          "--isolate starts the workers itself; --hosts, TF_CONFIG or a "
          "launcher has already named them");
  const auto workers = static_cast<int>(count_of(settings, "workers", 1, 512));
  const int port = free_port();
  const std::string token = random_token();
  setenv("COLLBENCH_JOB_TOKEN", token.c_str(), 1);
  for (int rank = 1; rank < workers; ++rank) {
    children.emplace_back(worker_command(),
                          std::vector<std::string>{
                              fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", workers),
                              "MASTER_ADDR=127.0.0.1", fmt::format("MASTER_PORT={}", port - 1),
                              "COLLBENCH_ISOLATE=false"},
                          false);
  }
  LaunchedWorker self{"--isolate", 0, workers, fmt::format("127.0.0.1:{}", port)};
  return launched_cluster(self, settings);
}

}  // namespace collbench

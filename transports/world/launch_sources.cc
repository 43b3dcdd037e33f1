#include "transports/world/launch_sources.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "core/host_port.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "transports/world/launcher_variables.h"
#include "transports/world/slurm_nodes.h"
#include "transports/world/tf_config.h"

namespace collbench {
namespace {

constexpr int most_claimed_ranks = 1 << 20;
constexpr int pod_port = 7101;  // of workers that have an address each

std::string text_of(const LaunchFacts& facts, const char* name) {
  const char* value = name == nullptr ? nullptr : facts.environment(name);
  return value == nullptr ? "" : value;
}

bool is_set(const LaunchFacts& facts, const char* name) {
  return name != nullptr && facts.environment(name) != nullptr;
}

int number_of(const LaunchFacts& facts, const char* name, int least, int most) {
  const std::string text = text_of(facts, name);
  const auto value = small_integer_in(text, least, most);
  require(value.has_value(), fmt::format("{} must be a whole number from {} to {}, not '{}'", name,
                                         least, most, text));
  return *value;
}

/// What one source provides: a rank and a number of ranks, either of which may be missing.
struct Claim {
  std::string source;
  std::optional<int> rank;
  int ranks = 0;
  bool all_here = false;  // all ranks are on this machine
  std::vector<std::string> hosts;
  bool evaluator = false;
  int servers = 0;
};

/// A row of the table: a launcher, by its variables unless `read` has a way of its own.
struct Source {
  const char* key;  // for --launcher
  const char* name;
  LauncherVariables variables;
  const char* local_ranks;  // how many of them are on this machine
  std::optional<Claim> (*read)(const LaunchFacts&, const Source&);
};

std::optional<Claim> read_tf_config(const LaunchFacts& facts, const Source& source) {
  if (!is_set(facts, source.variables.index)) return std::nullopt;
  const TfConfig config = parse_tf_config(text_of(facts, source.variables.index));
  Claim claim;
  claim.source = source.name;
  const auto take = [&claim](const auto& place) {
    claim.evaluator = place.evaluator;
    if (!place.evaluator) claim.rank = place.rank;
    claim.ranks = std::max(1, static_cast<int>(place.hosts.size()));
    claim.hosts = place.hosts;
  };
  if (!config.cluster.empty() && facts.with_servers.value_or(config.count("ps") > 0)) {
    take(parameter_server_place(config));
    claim.servers = config.count("ps");
  } else {
    take(mirrored_place(config));
  }
  return claim;
}

std::optional<Claim> read_variables(const LaunchFacts& facts, const Source& source) {
  if (!is_set(facts, source.variables.index)) return std::nullopt;
  Claim claim;
  claim.source = source.name;
  if (source.variables.count != nullptr) {
    require(is_set(facts, source.variables.count),
            fmt::format("{} is set, but {} is not; a worker needs both (or neither)",
                        source.variables.index, source.variables.count));
    claim.ranks = number_of(facts, source.variables.count, 1, most_claimed_ranks);
  }
  claim.rank = number_of(facts, source.variables.index, 0,
                         claim.ranks == 0 ? most_claimed_ranks - 1 : claim.ranks - 1);
  claim.all_here =
      claim.ranks > 0 && text_of(facts, source.local_ranks) == fmt::to_string(claim.ranks);
  return claim;
}

/// A batch script has a rank, but no step: then nothing was launched.
std::optional<Claim> read_step(const LaunchFacts& facts, const Source& source) {
  if (!is_set(facts, source.variables.count)) return std::nullopt;
  std::optional<Claim> claim = read_variables(facts, source);
  if (claim) claim->all_here = text_of(facts, "SLURM_STEP_NUM_NODES") == "1";
  return claim;
}

constexpr const char* tf_config = "TF_CONFIG";
constexpr const char* torchrun = "torchrun";
constexpr const char* open_mpi = "Open MPI";
constexpr const char* pmi = "PMI";
constexpr const char* slurm = "Slurm";
constexpr const char* kubernetes = "Kubernetes";
constexpr const char* pmix = "PMIx";

constexpr Source sources[] = {
    {"tf-config", tf_config, {"TF_CONFIG", nullptr}, nullptr, read_tf_config},
    {"torchrun", torchrun, torchrun_variables, "LOCAL_WORLD_SIZE", read_variables},
    {"open-mpi", open_mpi, open_mpi_variables, "OMPI_COMM_WORLD_LOCAL_SIZE", read_variables},
    {"pmi", pmi, pmi_variables, "MPI_LOCALNRANKS", read_variables},
    {"slurm", slurm, slurm_variables, nullptr, read_step},
    {"kubernetes", kubernetes, kubernetes_variables, nullptr, read_variables},
    {"pmix", pmix, pmix_variables, nullptr, read_variables},
};

std::string words_of(const Claim& claim) {
  if (claim.rank && claim.ranks > 0) return fmt::format("rank {} of {}", *claim.rank, claim.ranks);
  return claim.rank ? fmt::format("rank {}", *claim.rank) : fmt::format("{} workers", claim.ranks);
}

/// Another launcher may have started torchrun once for each node, and that this process.
bool is_node_of(const LaunchFacts& facts, const Claim& inner, const Claim& outer) {
  return inner.source == torchrun && is_set(facts, "GROUP_RANK") &&
         is_set(facts, "GROUP_WORLD_SIZE") &&
         number_of(facts, "GROUP_RANK", 0, most_claimed_ranks) == outer.rank &&
         (outer.ranks == 0 ||
          number_of(facts, "GROUP_WORLD_SIZE", 1, most_claimed_ranks) == outer.ranks);
}

void require_consistent(const LaunchFacts& facts, const std::vector<Claim>& claims) {
  for (auto one = claims.begin(); one != claims.end(); ++one) {
    for (auto other = one + 1; other != claims.end(); ++other) {
      const bool same_rank = !one->rank || !other->rank || one->rank == other->rank;
      const bool same_size = one->ranks == 0 || other->ranks == 0 || one->ranks == other->ranks;
      require((same_rank && same_size) || one->evaluator || is_node_of(facts, *one, *other),
              fmt::format("{} says {}, {} says {}; unset the variables of one, or say with "
                          "--launcher which to believe",
                          one->source, words_of(*one), other->source, words_of(*other)));
      if (one->hosts.empty() || other->hosts.empty()) continue;
      const auto [mine, theirs] =
          std::mismatch(one->hosts.begin(), one->hosts.end(), other->hosts.begin());
      require(mine == one->hosts.end(),
              fmt::format("{} has rank {} at {}, {} has it at {}; leave one out", one->source,
                          mine - one->hosts.begin(), mine == one->hosts.end() ? "" : *mine,
                          other->source, theirs == other->hosts.end() ? "" : *theirs));
    }
  }
}

std::vector<Claim> options_of(const LaunchFacts& facts) {
  std::vector<Claim> claims;
  if (facts.rank) {
    claims.emplace_back();
    claims.back().source = "--rank";
    claims.back().rank = facts.rank;
  }
  if (!facts.hosts.empty()) {
    claims.emplace_back();
    claims.back().source = "--hosts";
    claims.back().ranks = static_cast<int>(facts.hosts.size());
    claims.back().hosts = facts.hosts;
  }
  return claims;
}

/// The claims of the launchers that --launcher admits.
std::vector<Claim> launchers_of(const LaunchFacts& facts) {
  require_known("--launcher", facts.launcher, launcher_names());
  std::vector<Claim> claims;
  bool by_mpirun = false;
  bool is_alone = false;
  for (const Source& source : sources) {
    if (facts.launcher != "auto" && facts.launcher != source.key) continue;
    const std::optional<Claim> claim = source.read(facts, source);
    require(claim || facts.launcher == "auto",
            fmt::format("--launcher {}: {} is not set", source.key, source.variables.index));
    if (!claim) continue;
    by_mpirun = by_mpirun || claim->source == open_mpi || claim->source == pmi;
    const bool is_only_rank = claim->ranks == 1 && !claim->evaluator;
    is_alone = is_alone || is_only_rank;
    if (!is_only_rank) claims.push_back(*claim);
  }
  // mpirun starts its daemons with srun, and their step is what Slurm's variables then describe.
  if (by_mpirun) std::erase_if(claims, [](const Claim& claim) { return claim.source == slurm; });
  // PMIx alone does not say of how many, and a launcher of one rank gives it that rank's.
  if (is_alone) std::erase_if(claims, [](const Claim& claim) { return claim.source == pmix; });
  return claims;
}

/// The number of ranks as the user or PyTorch's variables give it, where the launcher does not.
int size_besides(const LaunchFacts& facts, const LaunchedWorker& worker) {
  const bool world = is_set(facts, "WORLD_SIZE");
  const int size = world ? number_of(facts, "WORLD_SIZE", 1, most_claimed_ranks) : 0;
  require(!world || facts.workers == 0 || size == facts.workers,
          fmt::format("--workers says {} workers, WORLD_SIZE says {} workers; leave one out",
                      facts.workers, size));
  require(world || facts.workers > 0,
          fmt::format("{} says rank {}, but nothing says of how many: set WORLD_SIZE or --workers "
                      "for all of them",
                      worker.source, worker.rank));
  return world ? size : facts.workers;
}

/// The pods of an indexed Job are JOB-0, JOB-1, ... within the domain of their service.
std::vector<std::string> pods_of(const LaunchFacts& facts, const LaunchedWorker& worker) {
  const std::string name = facts.host_name();
  const std::size_t dot = name.find('.');
  const std::string index = fmt::format("-{}", worker.rank);
  require(dot != std::string::npos && name.substr(0, dot).ends_with(index),
          fmt::format("started by Kubernetes as index {}, but this pod is '{}', not "
                      "JOB{}.SERVICE: give the pods a headless service as their subdomain, or set "
                      "MASTER_ADDR and MASTER_PORT",
                      worker.rank, name, index));
  std::vector<std::string> hosts;
  for (int rank = 0; rank < worker.ranks; ++rank) {
    hosts.push_back(fmt::format("{}-{}{}:{}", name.substr(0, dot - index.size()), rank,
                                name.substr(dot), pod_port));
  }
  return hosts;
}

/// A port that all ranks of a job derive alike, outside the range from which Linux assigns ports by
/// itself.
int port_of_job(const std::string& job) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<int>(20'000 + hash % 12'000);
}

int bootstrap_port(const LaunchFacts& facts, const LaunchedWorker& worker) {
  if (is_set(facts, "MASTER_PORT")) return number_of(facts, "MASTER_PORT", 1, 65'534) + 1;
  if (worker.source != slurm) {
    for (const char* name : {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}) {
      if (is_set(facts, name)) return port_of_job(text_of(facts, name));
    }
  }
  if (is_set(facts, "SLURM_STEP_ID")) {
    return port_of_job(text_of(facts, "SLURM_JOB_ID") + "." + text_of(facts, "SLURM_STEP_ID"));
  }
  throw InvalidArgument(
      fmt::format("started by {}, but nothing says at which port the ranks meet: set MASTER_PORT "
                  "for all of them",
                  worker.source));
}

std::string bootstrap_of(const LaunchFacts& facts, const LaunchedWorker& worker, bool all_here) {
  HostPort bootstrap{text_of(facts, "MASTER_ADDR"), 0};
  if (bootstrap.host.empty() && all_here) bootstrap.host = "127.0.0.1";
  const bool step = worker.source == slurm || worker.source == pmix;
  const std::string nodes = text_of(facts, step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST");
  if (bootstrap.host.empty() && !nodes.empty()) bootstrap.host = expand_node_list(nodes).front();
  require(!bootstrap.host.empty(),
          fmt::format("started by {}, but nothing says where rank 0 is: set MASTER_ADDR (and "
                      "MASTER_PORT) for all ranks",
                      worker.source));
  bootstrap.port = bootstrap_port(facts, worker);
  return to_string(bootstrap);
}

/// All claims merged; each part is taken from the first claim that has it.
LaunchedWorker merged(const std::vector<Claim>& claims) {
  LaunchedWorker worker;
  worker.rank = -1;
  worker.ranks = 0;
  for (const Claim& claim : claims) {
    if (worker.rank < 0 && claim.rank) {
      worker.rank = *claim.rank;
      worker.source = claim.source;
    }
    if (worker.ranks == 0) worker.ranks = claim.ranks;
    if (worker.hosts.empty()) worker.hosts = claim.hosts;
    worker.evaluator = worker.evaluator || claim.evaluator;
    worker.servers = std::max(worker.servers, claim.servers);
  }
  return worker;
}

}  // namespace

std::vector<std::string> launcher_names() {
  std::vector<std::string> names = {"auto", "none"};
  for (const Source& source : sources) names.emplace_back(source.key);
  return names;
}

std::optional<LaunchedWorker> launched_rank(const LaunchFacts& facts) {
  const std::vector<Claim> claims = launchers_of(facts);
  require_consistent(facts, claims);
  LaunchedWorker worker = merged(claims);
  return worker.rank < 0 ? std::nullopt : std::optional(std::move(worker));
}

std::optional<LaunchedWorker> launched_worker(const LaunchFacts& facts) {
  std::vector<Claim> claims = options_of(facts);
  for (Claim& claim : launchers_of(facts)) claims.push_back(std::move(claim));
  require_consistent(facts, claims);
  LaunchedWorker worker = merged(claims);
  if (worker.evaluator) {
    worker.source = tf_config;
    worker.hosts.clear();
    return worker;
  }
  if (worker.rank < 0) {
    require(facts.hosts.empty(),
            "--hosts needs --rank, this process's place in it from 0, or a launcher that sets it");
    require(facts.bootstrap.empty(),
            "--meet needs --rank and --workers, or a launcher that sets them");
    return std::nullopt;
  }
  require(worker.servers > 0 || !facts.with_servers.value_or(false),
          fmt::format("{} says {}, but only TF_CONFIG says which processes are chief, worker and "
                      "ps; --launcher none trains on threads of this one",
                      claims.front().source, words_of(claims.front())));
  if (worker.source == "--rank" && worker.ranks == 0) {
    require(!facts.bootstrap.empty() && facts.workers > 0,
            "--rank needs --hosts, the HOST:PORT of every worker, or --workers and --meet");
  }
  if (worker.ranks == 0) worker.ranks = size_besides(facts, worker);
  require(worker.rank < worker.ranks, fmt::format("{} must be at most {} (got {})", worker.source,
                                                  worker.ranks - 1, worker.rank));
  if (worker.ranks == 1 && facts.hosts.empty()) return std::nullopt;
  if (!facts.hosts.empty() && worker.source == "--rank") worker.source = "--hosts";
  if (!facts.bootstrap.empty()) {
    require(worker.hosts.empty(),
            fmt::format("--meet is for workers whose addresses nothing names, but {} names them",
                        worker.source));
    worker.bootstrap = facts.bootstrap;
    return worker;
  }
  const bool pods = worker.source == kubernetes && !is_set(facts, "MASTER_ADDR");
  if (worker.hosts.empty() && pods) worker.hosts = pods_of(facts, worker);
  worker.one_machine =
      worker.hosts.empty() &&
      std::any_of(claims.begin(), claims.end(), [](const Claim& claim) { return claim.all_here; });
  worker.bootstrap =
      worker.hosts.empty() ? bootstrap_of(facts, worker, worker.one_machine) : worker.hosts.front();
  return worker;
}

std::string full_host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (getaddrinfo(name, nullptr, &hints, &found) != 0) return name;
  std::string full = found->ai_canonname == nullptr ? name : found->ai_canonname;
  freeaddrinfo(found);
  return full;
}

}  // namespace collbench

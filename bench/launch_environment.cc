#include "bench/launch_environment.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr int most_ranks = 1 << 20;

std::string text_of(const Environ& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

int number_of(const Environ& environment, const char* name, int least, int most) {
  const std::string text = text_of(environment, name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(
      error == std::errc() && end == text.data() + text.size() && value >= least && value <= most,
      fmt::format("{} must be a whole number from {} to {}, not '{}'", name, least, most, text));
  return value;
}

/// The variables of one launcher.
struct Names {
  const char* source;
  const char* rank;
  const char* ranks;
};
constexpr Names torchrun{"torchrun", "RANK", "WORLD_SIZE"};
constexpr Names open_mpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};
constexpr Names slurm{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};

std::optional<LaunchedWorker> read(const Environ& environment, const Names& names) {
  const bool has_rank = environment(names.rank) != nullptr;
  const bool has_ranks = environment(names.ranks) != nullptr;
  // Slurm gives a batch script its rank, but no step: then nothing was launched.
  if (!has_ranks && (names.source == slurm.source || !has_rank)) return std::nullopt;
  require(has_rank && has_ranks,
          fmt::format("{} is set, but {} is not; a worker needs both (or neither)",
                      has_rank ? names.rank : names.ranks, has_rank ? names.ranks : names.rank));
  LaunchedWorker worker;
  worker.source = names.source;
  worker.ranks = number_of(environment, names.ranks, 1, most_ranks);
  worker.rank = number_of(environment, names.rank, 0, worker.ranks - 1);
  return worker;
}

/// Whether srun started torchrun, and torchrun this process.
bool is_torchrun_under_slurm(const Environ& environment, const LaunchedWorker& inner,
                             const LaunchedWorker& outer) {
  return inner.source == torchrun.source && environment("GROUP_RANK") != nullptr &&
         environment("GROUP_WORLD_SIZE") != nullptr &&
         number_of(environment, "GROUP_RANK", 0, most_ranks) == outer.rank &&
         number_of(environment, "GROUP_WORLD_SIZE", 1, most_ranks) == outer.ranks;
}

std::string host_of_rank_0(const Environ& environment, const LaunchedWorker& worker) {
  const std::string master = text_of(environment, "MASTER_ADDR");
  if (!master.empty()) return master;
  if (worker.source == open_mpi.source &&
      text_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE") == std::to_string(worker.ranks)) {
    return "127.0.0.1";
  }
  const std::string nodes = text_of(environment, "SLURM_STEP_NODELIST");
  if (!nodes.empty()) return first_node(nodes);
  throw InvalidArgument(
      fmt::format("started by {}, but nothing says where rank 0 is: set MASTER_ADDR (and "
                  "MASTER_PORT) for all ranks",
                  worker.source));
}

/// A port that all ranks of a job derive alike, among the dynamic ones that Linux does not lend out
/// by itself.
int port_of_job(const std::string& job) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<int>(20'000 + hash % 12'000);
}

int meeting_port(const Environ& environment, const LaunchedWorker& worker) {
  if (environment("MASTER_PORT") != nullptr) {
    return number_of(environment, "MASTER_PORT", 1, 65'534) + 1;
  }
  if (worker.source == slurm.source) {
    return port_of_job(text_of(environment, "SLURM_JOB_ID") + "." +
                       text_of(environment, "SLURM_STEP_ID"));
  }
  for (const char* name : {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}) {
    if (environment(name) != nullptr) return port_of_job(text_of(environment, name));
  }
  throw InvalidArgument(
      fmt::format("started by {}, but nothing says at which port the ranks meet: set MASTER_PORT "
                  "for all of them",
                  worker.source));
}

}  // namespace

std::optional<LaunchedWorker> launched_worker(const Environ& environment) {
  std::optional<LaunchedWorker> chosen;
  for (const Names& names : {torchrun, open_mpi, slurm}) {
    const std::optional<LaunchedWorker> found = read(environment, names);
    if (!found) continue;
    if (!chosen) {
      chosen = found;
      continue;
    }
    const bool same = found->rank == chosen->rank && found->ranks == chosen->ranks;
    require(same || is_torchrun_under_slurm(environment, *chosen, *found),
            fmt::format("{} says rank {} of {}, {} says rank {} of {}; unset the variables of one",
                        chosen->source, chosen->rank, chosen->ranks, found->source, found->rank,
                        found->ranks));
  }
  if (chosen && chosen->ranks > 1) {
    chosen->meeting = host_of_rank_0(environment, *chosen);
    chosen->meeting += fmt::format(":{}", meeting_port(environment, *chosen));
  }
  return chosen;
}

std::string first_node(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) {
    const std::string name = list.substr(0, comma);
    require(!name.empty(), fmt::format("SLURM_STEP_NODELIST '{}' names no node", list));
    return name;
  }
  const std::size_t digits_end = list.find_first_not_of("0123456789", bracket + 1);
  require(bracket > 0 && digits_end != std::string::npos && digits_end > bracket + 1,
          fmt::format("SLURM_STEP_NODELIST '{}' cannot be read; set MASTER_ADDR", list));
  const std::size_t close = list.find(']', bracket);
  require(close != std::string::npos,
          fmt::format("SLURM_STEP_NODELIST '{}' has no ']'; set MASTER_ADDR", list));
  const std::size_t end = list.find(',', close);
  return list.substr(0, bracket) + list.substr(bracket + 1, digits_end - bracket - 1) +
         list.substr(close + 1, end == std::string::npos ? end : end - close - 1);
}

}  // namespace collbench

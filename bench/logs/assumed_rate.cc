#include "bench/logs/assumed_rate.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr double adapter_of_gpus_gbs = 23;          // 200 Gb/s
constexpr double adapter_of_processors_gbs = 11.5;  // 100 Gb/s
// Of hosts that the log does not name, where a communicator has some of the job's ranks only.
constexpr int usual_gpus_per_host = 8;

/// Hosts of a communicator's processes.
std::set<std::string> hosts_of(const JobLog& job, const JobRanks& ranks, int communicator) {
  std::set<std::string> hosts;
  for (const auto& [rank, process] : ranks.processes(communicator)) {
    if (process < 0) continue;
    const std::string& host = job.processes[static_cast<std::size_t>(process)].host;
    if (!host.empty()) hosts.insert(host);
  }
  return hosts;
}

/// Ranks on each host; 0 if it is not known.
int ranks_per_host(const JobLog& job, const JobRanks& ranks, int communicator) {
  const int hosts = known_hosts(job, ranks, communicator);
  const int all = job.communicators[static_cast<std::size_t>(communicator)].ranks;
  return hosts == 0 ? 0 : (all + hosts - 1) / hosts;
}

/// The most processes of the job that one of the hosts has; those of one format, as each names them
/// in its own way.
int job_ranks_per_host(const JobLog& job, const JobRanks& ranks, int communicator) {
  const std::set<std::string> hosts = hosts_of(job, ranks, communicator);
  const std::string_view format = job.communicators[static_cast<std::size_t>(communicator)].format;
  std::map<std::string, std::set<int>> processes;
  for (std::size_t c = 0; c < job.communicators.size(); ++c) {
    if (job.communicators[c].format != format) continue;
    for (const auto& [rank, process] : ranks.processes(static_cast<int>(c))) {
      if (process < 0) continue;
      const std::string& host = job.processes[static_cast<std::size_t>(process)].host;
      if (hosts.contains(host)) processes[host].insert(process);
    }
  }
  std::size_t most = 0;
  for (const auto& [host, those] : processes) most = std::max(most, those.size());
  return static_cast<int>(most);
}

}  // namespace

std::string place_of(const JobLog& job, const JobRanks& ranks, int communicator) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  std::string place = fmt::format("communicator '{}'", one.name.empty() ? one.id : one.name);
  const std::set<std::string> hosts = hosts_of(job, ranks, communicator);
  if (hosts.empty() || hosts.size() > 8) return place;
  return place + fmt::format(" on {}", fmt::join(hosts, ", "));
}

int known_hosts(const JobLog& job, const JobRanks& ranks, int communicator) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  if (one.nodes > 0) return one.nodes;
  const bool all_heard = std::ssize(ranks.heard(communicator)) >= one.ranks;
  return all_heard ? static_cast<int>(hosts_of(job, ranks, communicator).size()) : 0;
}

int hosts_at_least(const JobLog& job, const JobRanks& ranks, int communicator) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const int each = ranks_per_host(job, ranks, communicator);
  const int full = each > 0 ? each : usual_gpus_per_host;
  return std::max(2, (one.ranks + full - 1) / full);
}

AssumedRate assumed_rate(const JobLog& job, const JobRanks& ranks, int communicator) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const int known = ranks_per_host(job, ranks, communicator);
  // One host: NVLink, PCIe or memory, which the log does not say.
  if (known >= one.ranks) return {};
  if (job.of_processors) {
    const std::string least =
        "an adapter of 100 Gb/s a host, the least that clusters of processors have";
    // Processes without a host may all share one.
    if (known == 0) return {0, adapter_of_processors_gbs, least + "; its hosts are not said"};
    return {adapter_of_processors_gbs, adapter_of_processors_gbs, least};
  }
  const auto adapters_of = [](int gpus) { return gpus == 1 ? 1 : gpus > 4 ? gpus : 2; };
  if (known == 0 && one.ranks < ranks.count()) {
    const int adapters = adapters_of(one.ranks / 2);
    return {adapter_of_gpus_gbs * 2 / usual_gpus_per_host, adapter_of_gpus_gbs * adapters,
            fmt::format("{} of 200 Gb/s a host, as for up to {} of its; which hosts it has is not "
                        "said, and the job's other communicators may use the adapters at the same "
                        "time",
                        counted(adapters, "adapter"), counted(one.ranks / 2, "GPU"))};
  }
  const int adapters = adapters_of(known);
  const int beside = known > 0 ? job_ranks_per_host(job, ranks, communicator) : 0;
  if (beside > known) {
    const int shared = std::min(adapters_of(beside), 2);
    return {adapter_of_gpus_gbs * shared * known / beside, adapter_of_gpus_gbs * adapters,
            fmt::format("{} of 200 Gb/s for its {} on a host; the job has {} there, whose other "
                        "communicators may use the adapters at the same time",
                        counted(adapters, "adapter"), counted(known, "GPU"), beside)};
  }
  const std::string built = fmt::format(
      "{} of 200 Gb/s a host, as hosts {} are built with at least", counted(adapters, "adapter"),
      known > 0 ? "of " + counted(known, "such GPU") : "for training");
  // One host may have so many, without a network.
  if (known == 0 && one.ranks <= usual_gpus_per_host) {
    return {0, adapter_of_gpus_gbs * adapters, built};
  }
  return {adapter_of_gpus_gbs * std::min(adapters, 2), adapter_of_gpus_gbs * adapters, built};
}

}  // namespace collbench

#include "bench/logs/network_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/reports/text.h"
#include "core/plain_text.h"
#include "core/quantile.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/policies/policy.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr double healthy_share = 0.8;
constexpr double surely_slow_share = 0.5;
constexpr double adapter_of_gpus_gbs = 23;          // 200 Gb/s
constexpr double adapter_of_processors_gbs = 11.5;  // 100 Gb/s
constexpr double disturbed_factor = 1.5;
// Of hosts that the log does not name, where a communicator has some of the job's ranks only.
constexpr int usual_gpus_per_host = 8;
// Of an all-reduce of a few MiB, beyond what its bytes take: 122 us for 1 MiB on two hosts of H100
// and InfiniBand, 360 us for 4 MiB with TCP between them, 330 us for 2 MiB on 16 hosts.
constexpr double latency_us = 200;
constexpr double latency_of_host_us = 40;
// Below, latency and not the rate of links decides.
constexpr std::int64_t least_bytes = 1 << 20;

/// The transfers of one size.
struct SizeTransfers {
  std::int64_t bytes = 0;
  std::vector<double> us;  // ascending
  double at(double part) const { return quantile_of_sorted(us, part); }
};

/// Of the kind that moves the most bytes.
std::vector<SizeTransfers> transfers_of(const std::vector<JobOperation>& operations,
                                        int communicator, LoggedKind& kind) {
  std::map<LoggedKind, std::map<std::int64_t, SizeTransfers>> kinds;
  std::map<LoggedKind, double> moved;
  for (const JobOperation& operation : operations) {
    const LogRecord& any = operation.any();
    if (any.communicator != communicator || !waits_for_all(any.kind) || operation.last < 0) {
      continue;
    }
    SizeTransfers& size = kinds[any.kind][any.bytes];
    size.bytes = any.bytes;
    size.us.push_back(operation.transfer_us);
    moved[any.kind] += static_cast<double>(any.bytes);
  }
  std::vector<SizeTransfers> sizes;
  if (moved.empty()) return sizes;
  kind = std::max_element(moved.begin(), moved.end(), [](const auto& a, const auto& b) {
           return a.second < b.second;
         })->first;
  for (auto& [bytes, size] : kinds[kind]) {
    std::sort(size.us.begin(), size.us.end());
    sizes.push_back(std::move(size));
  }
  return sizes;
}

/// GB/s of the bus.
struct MeasuredRate {
  double gbs = 0;
  bool may_hold_latency = true;  // of one size, or of sizes that take about as long
};

/// The slope between the largest size and the largest of at most half of it where both were
/// transferred several times, else the largest size alone. A slope beyond what latency can explain
/// is noise.
MeasuredRate measured_rate(const std::vector<SizeTransfers>& sizes, double factor, double part) {
  const SizeTransfers& largest = sizes.back();
  const double simple = factor * static_cast<double>(largest.bytes) / largest.at(part) * 1e-3;
  const double most = 1.25 * simple;
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    const bool usable = 2 * size->bytes <= largest.bytes && 8 * size->bytes >= least_bytes &&
                        size->us.size() >= 2 && largest.us.size() >= 2;
    if (!usable) continue;
    const double us = largest.at(part) - size->at(part);
    const double slope = factor * static_cast<double>(largest.bytes - size->bytes) / us * 1e-3;
    if (!(us > 0)) break;
    return {std::clamp(slope, simple, most), slope > most};
  }
  return {simple};
}

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

/// "communicator 'dp2' on h0, h1", without the hosts where they are many or not said.
std::string place_of(const JobLog& job, const JobRanks& ranks, int communicator) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  std::string place = fmt::format("communicator '{}'", one.name.empty() ? one.id : one.name);
  const std::set<std::string> hosts = hosts_of(job, ranks, communicator);
  if (hosts.empty() || hosts.size() > 8) return place;
  return place + fmt::format(" on {}", fmt::join(hosts, ", "));
}

/// Ranks on each host; 0 if it is not known.
int ranks_per_host(const JobLog& job, const JobRanks& ranks, int communicator) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  if (one.nodes > 0) return (one.ranks + one.nodes - 1) / one.nodes;
  const std::set<std::string> hosts = hosts_of(job, ranks, communicator);
  const auto heard = static_cast<int>(ranks.heard(communicator).size());
  return hosts.empty() || heard < one.ranks ? 0 : heard / static_cast<int>(hosts.size());
}

/// Hosts of a communicator; where they are not said, those of as many full ones.
int hosts_at_least(const JobLog& job, const JobRanks& ranks, int communicator) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const int each = ranks_per_host(job, ranks, communicator);
  const int full = each > 0 ? each : usual_gpus_per_host;
  return std::max(2, (one.ranks + full - 1) / full);
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

/// The least and the usual rate without a word of the user; 0 if there is none.
struct AssumedRate {
  double least_gbs = 0;
  double usual_gbs = 0;
  std::string words;
};

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
  const double least = adapter_of_gpus_gbs * std::min(adapters, 2);
  return {least, adapter_of_gpus_gbs * adapters,
          fmt::format("{} of 200 Gb/s a host, as hosts {} are built with at least",
                      counted(adapters, "adapter"),
                      known > 0 ? "of " + counted(known, "such GPU") : "for training")};
}

/// The least rate that there may be, and what the largest transfers have at most without latency.
struct Bounds {
  double least_gbs = 0;
  double without_latency_gbs = 0;
};

void judge(const Bounds& bounds, NetworkVerdict& verdict) {
  const double share = verdict.measured_gbs / verdict.expected_gbs;
  const auto is_slow = [&](double gbs) { return gbs < surely_slow_share * bounds.least_gbs; };
  if (share >= healthy_share) {
    verdict.state = NetworkState::healthy;
  } else if (!verdict.assumed || is_slow(bounds.without_latency_gbs)) {
    verdict.state = NetworkState::slow;
  } else {
    verdict.is_doubtful = true;
    verdict.unknown = fmt::format(
        "{} GB/s is less than is usual ({} GB/s: {}), but {}: state --topo or --expect-busbw",
        significant(verdict.measured_gbs, 3), significant(verdict.expected_gbs, 3), verdict.basis,
        is_slow(verdict.measured_gbs) ? "latency may be most of it, and no two sizes tell"
                                      : "may be all that this hardware has");
  }
}

/// GB/s of the largest transfers without what latency may take, which grows with the hosts.
double rate_without_latency(const SizeTransfers& largest, double factor, double part, int hosts) {
  const double us = largest.at(part) - latency_us - latency_of_host_us * hosts;
  if (us <= 0) return std::numeric_limits<double>::infinity();
  return factor * static_cast<double>(largest.bytes) / us * 1e-3;
}

/// Without the durations of all ranks only a fast transfer is sure to be one.
void doubt_slowness(bool any_complete, int heard, int ranks, NetworkVerdict& verdict) {
  if (verdict.state == NetworkState::healthy) return;
  verdict.state = NetworkState::unknown;
  verdict.is_doubtful = false;
  const std::string lacking = any_complete
                                  ? fmt::format("only {} of {} ranks have logs", heard, ranks)
                                  : "no operation has the durations of all ranks";
  verdict.unknown = fmt::format(
      "{} GB/s where {} are expected ({}), but {}: the others may wait for one that is missing",
      significant(verdict.measured_gbs, 3), significant(verdict.expected_gbs, 3), verdict.basis,
      lacking);
}

/// Expected bus bandwidth of the largest size on the user's machine.
void expect_of_machine(const NetworkExpectation& expectation, const JobCommunicator& one,
                       Bytes bytes, double factor, NetworkVerdict& verdict) {
  const Seconds time = expected_all_reduce(expectation.topology, one.ranks, one.nodes, bytes);
  verdict.expected_gbs = factor * static_cast<double>(bytes.count) / time.count() * 1e-9;
  verdict.basis = fmt::format("{} predicted on {} for {}", to_string(time), expectation.topology,
                              to_string(bytes));
}

void count_disturbed(const std::vector<SizeTransfers>& sizes, NetworkVerdict& verdict) {
  for (const SizeTransfers& size : sizes) {
    if (size.bytes < least_bytes) continue;
    const double usual = size.at(0.25);
    verdict.judged += static_cast<std::int64_t>(size.us.size());
    verdict.disturbed += std::count_if(size.us.begin(), size.us.end(),
                                       [&](double us) { return us > disturbed_factor * usual; });
  }
}

}  // namespace

std::string_view to_string(NetworkState state) {
  constexpr std::array<std::string_view, 3> names = {"unknown", "healthy", "slow"};
  return names.at(static_cast<std::size_t>(state));
}

Seconds expected_all_reduce(const std::string& topology, int ranks, int nodes, Bytes bytes) {
  const Machine machine = collbench::machine(topology, ranks);
  Question question;
  question.bytes = bytes;
  question.workers = ranks;
  question.nodes = nodes > 0 ? nodes : nodes_of(machine.topology.layout(), ranks);
  question.machine = &machine;
  if (machine.costs.gpus) question.devices = Devices::gpus;
  if (const auto inside = inside_library(question)) return *inside->chosen.time;
  const Answer answer = ask(find_policy("model"), question);
  return answer.candidates.front().time.value_or(Seconds{0});
}

NetworkVerdict network_of(const JobLog& job, const std::vector<JobOperation>& operations,
                          const JobRanks& ranks, int communicator,
                          const NetworkExpectation& expectation) {
  NetworkVerdict verdict;
  LoggedKind kind = LoggedKind::all_reduce;
  const std::vector<SizeTransfers> sizes = transfers_of(operations, communicator, kind);
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const auto heard = static_cast<int>(ranks.heard(communicator).size());
  if (sizes.empty()) {
    verdict.unknown = "there are no durations in it";
    return verdict;
  }
  verdict.bytes = sizes.back().bytes;
  if (one.ranks < 2) {
    verdict.unknown = "how many ranks take part is not said";
    return verdict;
  }
  if (sizes.back().bytes == 0) {
    verdict.unknown = "the sizes of its collectives are not said";
    return verdict;
  }
  if (sizes.back().bytes < least_bytes) {
    verdict.unknown = fmt::format("the largest transfer has {}: latency decides, not the network",
                                  to_string(Bytes{sizes.back().bytes}));
    return verdict;
  }
  // With all ranks the median is what the network does. Without them waiting for a missing rank is
  // in it: only the fastest quarter may be free of that.
  const bool any_complete =
      std::any_of(operations.begin(), operations.end(), [&](const JobOperation& operation) {
        return operation.any().communicator == communicator && operation.timed_by_all;
      });
  const bool all_heard = heard >= one.ranks && any_complete;
  verdict.where = place_of(job, ranks, communicator);
  const double factor = bus_factor(kind, one.ranks);
  const double part = all_heard ? 0.5 : 0.25;
  const MeasuredRate measured = measured_rate(sizes, factor, part);
  verdict.measured_gbs = measured.gbs;
  if (all_heard) count_disturbed(sizes, verdict);
  Bounds bounds{0, measured.gbs};
  if (measured.may_hold_latency) {
    bounds.without_latency_gbs =
        rate_without_latency(sizes.back(), factor, part, hosts_at_least(job, ranks, communicator));
  }
  if (expectation.bus) {
    verdict.expected_gbs = expectation.bus->bytes_per_second * 1e-9;
    verdict.basis = "as stated";
  } else if (!expectation.topology.empty() && kind == LoggedKind::all_reduce) {
    expect_of_machine(expectation, one, Bytes{sizes.back().bytes}, factor, verdict);
  } else {
    const AssumedRate assumed = assumed_rate(job, ranks, communicator);
    verdict.assumed = true;
    verdict.expected_gbs = assumed.usual_gbs;
    verdict.basis = assumed.words;
    bounds.least_gbs = assumed.least_gbs;
  }
  if (verdict.expected_gbs <= 0) {
    verdict.unknown = fmt::format(
        "{} GB/s inside one host, whose links the log does not say: state --topo or --expect-busbw",
        significant(verdict.measured_gbs, 3));
    return verdict;
  }
  judge(bounds, verdict);
  if (!all_heard) doubt_slowness(any_complete, heard, one.ranks, verdict);
  return verdict;
}

NetworkVerdict worst_of(const std::vector<NetworkVerdict>& verdicts) {
  const auto rank_of = [](const NetworkVerdict& verdict) {
    if (verdict.state == NetworkState::slow) return 3;
    if (verdict.state == NetworkState::healthy) return 1;
    return verdict.is_doubtful ? 2 : 0;
  };
  NetworkVerdict worst;
  std::int64_t healthy = 0;
  for (const NetworkVerdict& verdict : verdicts) {
    healthy += verdict.state == NetworkState::healthy ? 1 : 0;
    // Of several reasons why nothing can be told, the one that is nearest to a figure.
    const auto nearness = [](const NetworkVerdict& one) {
      return std::tuple(!one.unknown.empty(), one.measured_gbs > 0, one.bytes);
    };
    const bool better_reason =
        rank_of(verdict) == 0 && rank_of(worst) == 0 && nearness(verdict) > nearness(worst);
    const bool worse =
        rank_of(verdict) > rank_of(worst) ||
        (rank_of(verdict) == rank_of(worst) && rank_of(verdict) > 0 &&
         verdict.measured_gbs / verdict.expected_gbs < worst.measured_gbs / worst.expected_gbs);
    if (worse || better_reason) worst = verdict;
  }
  if (worst.state != NetworkState::healthy) worst.healthy_others = healthy;
  return worst;
}

}  // namespace collbench

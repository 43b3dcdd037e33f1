#include "bench/logs/network_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "bench/logs/assumed_rate.h"
#include "bench/logs/machine_question.h"
#include "bench/reports/text.h"
#include "core/plain_text.h"
#include "core/quantile.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr double healthy_share = 0.8;
constexpr double surely_slow_share = 0.5;
constexpr double disturbed_factor = 1.5;
// Of a size over a larger one, in time.
constexpr double odd_size_factor = 1.5;
constexpr std::size_t fewest_of_size = 3;
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

/// The transfers of one kind, by size.
struct KindTransfers {
  LoggedKind kind = LoggedKind::all_reduce;
  double moved = 0;  // bytes
  std::vector<SizeTransfers> sizes;
};

/// The kind that moves the most bytes comes first.
std::vector<KindTransfers> transfers_of(std::span<const JobOperation> operations) {
  std::map<LoggedKind, std::map<std::int64_t, SizeTransfers>> kinds;
  std::map<LoggedKind, double> moved;
  for (const JobOperation& operation : operations) {
    const LogRecord& any = operation.any();
    if (!has_bus_rate(any.kind) || operation.last < 0) continue;
    SizeTransfers& size = kinds[any.kind][any.bytes];
    size.bytes = any.bytes;
    size.us.push_back(operation.transfer_us);
    moved[any.kind] += static_cast<double>(any.bytes);
  }
  std::vector<KindTransfers> all;
  for (auto& [kind, by_size] : kinds) {
    KindTransfers& one = all.emplace_back(KindTransfers{kind, moved[kind], {}});
    for (auto& [bytes, size] : by_size) {
      std::sort(size.us.begin(), size.us.end());
      one.sizes.push_back(std::move(size));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const KindTransfers& a, const KindTransfers& b) {
    return a.moved > b.moved;
  });
  return all;
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
    const bool usable = size->bytes <= largest.bytes / 2 && size->bytes >= least_bytes / 8 &&
                        size->us.size() >= 2 && largest.us.size() >= 2;
    if (!usable) continue;
    const double us = largest.at(part) - size->at(part);
    const double slope = factor * static_cast<double>(largest.bytes - size->bytes) / us * 1e-3;
    if (!(us > 0)) break;
    return {std::clamp(slope, simple, most), slope > most};
  }
  return {simple};
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
        "{} GB/s is less than is usual ({} GB/s: {}), but {}: {}",
        significant(verdict.measured_gbs, 3), significant(verdict.expected_gbs, 3), verdict.basis,
        is_slow(verdict.measured_gbs) ? "latency may be most of it, and no two sizes tell"
                                      : "may be all that this hardware has",
        verdict.not_asked.empty() ? "state --topo or --expect-busbw"
                                  : verdict.not_asked + "; state --expect-busbw");
  }
}

/// GB/s of the largest transfers without what latency may take, which grows with the hosts.
double rate_without_latency(const SizeTransfers& largest, double factor, double part, int hosts) {
  const double us = largest.at(part) - latency_us - latency_of_host_us * hosts;
  if (us <= 0) return std::numeric_limits<double>::infinity();
  return factor * static_cast<double>(largest.bytes) / us * 1e-3;
}

/// For what may be no fault of a network that is below what is expected.
void doubt(NetworkVerdict& verdict, const std::string& why) {
  verdict.state = NetworkState::unknown;
  verdict.is_doubtful = true;
  verdict.unknown = fmt::format("{} GB/s where {} are expected ({}), but {}",
                                significant(verdict.measured_gbs, 3),
                                significant(verdict.expected_gbs, 3), verdict.basis, why);
}

/// Without the durations of all ranks only a fast transfer is sure to be one.
void doubt_slowness(bool any_complete, int heard, int ranks, NetworkVerdict& verdict) {
  if (verdict.state == NetworkState::healthy) return;
  const std::string lacking = any_complete
                                  ? fmt::format("only {} of {} ranks have logs", heard, ranks)
                                  : "no operation has the durations of all ranks";
  doubt(verdict, lacking + ": the others may wait for one that is missing");
}

/// What is usual is not what a machine should have that the user states.
void doubt_health(NetworkVerdict& verdict) {
  if (verdict.not_asked.empty() || verdict.state != NetworkState::healthy) return;
  verdict.state = NetworkState::unknown;
  verdict.unknown = fmt::format(
      "{} GB/s is no less than is usual ({} GB/s: {}), but what --topo should reach is not known: "
      "{}",
      significant(verdict.measured_gbs, 3), significant(verdict.expected_gbs, 3), verdict.basis,
      verdict.not_asked);
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

/// What is judged: one communicator of a job.
struct CommunicatorTransfers {
  const JobLog& job;
  std::span<const JobOperation> operations;  // its own
  const JobRanks& ranks;
  int communicator = 0;
  const NetworkExpectation& expectation;
};

/// Why a kind has no rate to judge; empty: it has one.
std::string not_judged(const JobCommunicator& one, std::int64_t largest) {
  if (one.ranks < 2) return "how many ranks take part is not said";
  if (largest == 0) return "the sizes of its collectives are not said";
  if (largest >= least_bytes) return {};
  return fmt::format("the largest transfer has {}: latency decides, not the network",
                     to_string(Bytes{largest}));
}

/// The expected bus bandwidth of the largest size on the user's machine; false if it is not known.
/// All-gathers and reduce-scatters have the one that rings have which send as much.
bool expect_of_machine(const CommunicatorTransfers& these, const KindTransfers& kind, double factor,
                       NetworkVerdict& verdict) {
  const std::string& topology = these.expectation.topology;
  const int all = these.job.communicators[static_cast<std::size_t>(these.communicator)].ranks;
  const bool is_all_reduce = kind.kind == LoggedKind::all_reduce;
  const double sent = factor * static_cast<double>(kind.sizes.back().bytes);  // by each rank
  const Bytes bytes{std::llround(sent / bus_factor(LoggedKind::all_reduce, all))};
  const Machine network = machine(topology, all);
  const std::optional<Question> question =
      question_on(network, these.job, these.ranks, these.communicator, bytes, verdict.not_asked);
  if (!question) return false;
  const Answer answer = answer_of_library(*question);
  const auto ring = std::ranges::find_if(answer.candidates, [](const Candidate& each) {
    return each.time && each.algorithm.starts_with("ring");
  });
  const Candidate* const played = is_all_reduce                     ? chosen_one(answer)
                                  : ring == answer.candidates.end() ? nullptr
                                                                    : &*ring;
  if (played == nullptr) {
    verdict.not_asked = fmt::format("nothing is known to play on {}", topology);
    return false;
  }
  verdict.expected_gbs = sent / played->time->count() * 1e-9;
  verdict.basis = fmt::format("{} predicted on {} for {}{}", to_string(*played->time), topology,
                              is_all_reduce ? "" : "rings of an all-reduce that send as much, of ",
                              to_string(bytes));
  return true;
}

/// What is expected, in `verdict`, and its bounds.
Bounds expect(const CommunicatorTransfers& these, const KindTransfers& kind, double factor,
              NetworkVerdict& verdict) {
  const auto& [job, operations, ranks, communicator, expectation] = these;
  if (expectation.bus) {
    verdict.expected_gbs = expectation.bus->bytes_per_second * 1e-9;
    verdict.basis = "as stated";
  } else if (expectation.topology.empty() || !expect_of_machine(these, kind, factor, verdict)) {
    const AssumedRate assumed = assumed_rate(job, ranks, communicator);
    verdict.assumed = true;
    verdict.expected_gbs = assumed.usual_gbs;
    verdict.basis = assumed.words;
    return {assumed.least_gbs, verdict.measured_gbs};
  }
  return {0, verdict.measured_gbs};
}

/// Whether every rank has durations of one kind: with them the median is what the network does.
/// Without them waiting for a missing rank is in it, and only the fastest quarter may be free of
/// it.
struct Heard {
  bool any_complete = false;
  bool of_means = false;
  bool all = false;
};
Heard heard_of(const CommunicatorTransfers& these, LoggedKind kind) {
  Heard heard;
  for (const JobOperation& operation : these.operations) {
    if (operation.any().kind != kind) continue;
    heard.any_complete = heard.any_complete || operation.timed_by_all;
    heard.of_means = heard.of_means || operation.any().count != 1;
  }
  const JobCommunicator& one =
      these.job.communicators[static_cast<std::size_t>(these.communicator)];
  heard.all = heard.any_complete && std::ssize(these.ranks.heard(these.communicator)) >= one.ranks;
  return heard;
}

/// By its collectives of one kind. Of one that moves less than another (`is_minor`) only what is
/// slow whatever latency it has says something.
NetworkVerdict network_of_kind(const CommunicatorTransfers& these, const KindTransfers& kind,
                               bool is_minor) {
  const auto& [job, operations, ranks, communicator, expectation] = these;
  const std::vector<SizeTransfers>& sizes = kind.sizes;
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const auto heard = static_cast<int>(ranks.heard(communicator).size());
  NetworkVerdict verdict;
  verdict.bytes = sizes.back().bytes;
  verdict.unknown = not_judged(one, verdict.bytes);
  if (!verdict.unknown.empty()) return verdict;
  const auto [any_complete, of_means, all_heard] = heard_of(these, kind.kind);
  verdict.where = place_of(job, ranks, communicator);
  if (is_minor) verdict.where = fmt::format("the {}s of {}", to_string(kind.kind), verdict.where);
  const double factor = bus_factor(kind.kind, one.ranks);
  const double part = all_heard ? 0.5 : 0.25;
  const MeasuredRate measured = measured_rate(sizes, factor, part);
  verdict.measured_gbs = measured.gbs;
  // Inside one host there are no flows that collide.
  if (all_heard && known_hosts(job, ranks, communicator) != 1) count_disturbed(sizes, verdict);
  Bounds bounds = expect(these, kind, factor, verdict);
  const double without_latency =
      rate_without_latency(sizes.back(), factor, part, hosts_at_least(job, ranks, communicator));
  if (measured.may_hold_latency) bounds.without_latency_gbs = without_latency;
  if (verdict.expected_gbs <= 0) {
    verdict.unknown = fmt::format(
        "{} GB/s inside one host, whose links the log does not say: state --topo or --expect-busbw",
        significant(verdict.measured_gbs, 3));
    return verdict;
  }
  judge(bounds, verdict);
  if (!all_heard) doubt_slowness(any_complete, heard, one.ranks, verdict);
  if (of_means && verdict.state == NetworkState::slow) {
    doubt(verdict, "its times are means, which hold waiting if ranks are late by turns");
  }
  doubt_health(verdict);
  const double least = verdict.assumed ? bounds.least_gbs : verdict.expected_gbs;
  if (is_minor && without_latency >= surely_slow_share * least) return {};
  return verdict;
}

/// A size that takes longer than a larger one: its rate is not the network's. Empty: none does, or
/// the times may hold waiting.
std::string size_slower_than_larger(const CommunicatorTransfers& these, const KindTransfers& kind) {
  const Heard heard = heard_of(these, kind.kind);
  if (!heard.all || heard.of_means) return {};
  for (auto size = kind.sizes.begin(); size != kind.sizes.end(); ++size) {
    if (size->bytes < least_bytes || size->us.size() < fewest_of_size) continue;
    for (auto larger = size + 1; larger != kind.sizes.end(); ++larger) {
      const bool is_odd = larger->us.size() >= fewest_of_size &&
                          size->at(0.25) > odd_size_factor * larger->at(0.75);
      if (!is_odd) continue;
      return fmt::format("{}s of {} take {:.0f} us without any waiting, those of {} only {:.0f}",
                         to_string(kind.kind), to_string(Bytes{size->bytes}), size->at(0.5),
                         to_string(Bytes{larger->bytes}), larger->at(0.5));
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(NetworkState state) {
  constexpr std::array<std::string_view, 3> names = {"unknown", "healthy", "slow"};
  return names.at(static_cast<std::size_t>(state));
}

NetworkVerdict network_of(const JobLog& job, std::span<const JobOperation> operations,
                          const JobRanks& ranks, int communicator,
                          const NetworkExpectation& expectation) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  NetworkVerdict verdict;
  if (is_several(one, ranks.heard(communicator))) {
    verdict.unknown =
        "several communicators are taken together in it, whose ranks cannot be compared";
    return verdict;
  }
  const std::vector<KindTransfers> kinds = transfers_of(operations);
  if (kinds.empty()) {
    const bool timed = std::any_of(operations.begin(), operations.end(),
                                   [](const JobOperation& each) { return each.last >= 0; });
    verdict.unknown = timed ? "what has durations in it is no all-reduce, all-gather or "
                              "reduce-scatter, whose rates could be compared"
                            : "there are no durations in it";
    return verdict;
  }
  const CommunicatorTransfers these{job, operations, ranks, communicator, expectation};
  verdict = network_of_kind(these, kinds.front(), false);
  std::string odd_size = size_slower_than_larger(these, kinds.front());
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    const NetworkVerdict other = network_of_kind(these, kinds[i], true);
    const bool is_worse =
        other.state == NetworkState::slow &&
        (verdict.state != NetworkState::slow ||
         other.measured_gbs / other.expected_gbs < verdict.measured_gbs / verdict.expected_gbs);
    if (is_worse) verdict = other;
    if (odd_size.empty()) odd_size = size_slower_than_larger(these, kinds[i]);
  }
  if (!odd_size.empty()) {
    verdict.odd_size = fmt::format("{}, in {}", odd_size, place_of(job, ranks, communicator));
  }
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
  std::string odd_size;
  for (const NetworkVerdict& verdict : verdicts) {
    healthy += verdict.state == NetworkState::healthy ? 1 : 0;
    if (odd_size.empty()) odd_size = verdict.odd_size;
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
  worst.odd_size = odd_size;
  if (worst.state != NetworkState::healthy) worst.healthy_others = healthy;
  return worst;
}

}  // namespace collbench

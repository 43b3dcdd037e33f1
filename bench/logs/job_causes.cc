// The causes that a job's logs speak for, each with what was seen.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/job_verdict.h"
#include "bench/reports/text.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr std::int64_t large_for_ll = 4 << 20;

std::string ranks_in_words(const JobRanks& ranks, const std::vector<int>& some) {
  if (some.size() == 1) return ranks.name(some.front());
  return fmt::format("ranks {}", fmt::join(some, ", "));
}

/// A log has said already which rank is late, or where ranks stand: what it does there is next. MPI
/// programs are seldom Python's.
constexpr std::string_view check_of_late_processors =
    "on its host, while it is late: gdb -p PID -batch -ex bt, top -H  (what it does before the "
    "collective)";
constexpr std::string_view check_of_late_gpus =
    "on its host, while it is late: py-spy dump --pid PID, nvidia-smi -q -d PERFORMANCE  (what it "
    "does before the collective: input, other work, a lower clock)";
constexpr std::string_view check_of_standing_processors =
    "gdb -p PID -batch -ex bt  (of the ranks that are named, else of all: where each stands)";

void find_late(const JobLog& job, const JobRanks& ranks, JobVerdict& verdict) {
  const Lateness& late = verdict.lateness;
  if (late.late.empty()) return;
  std::string seen = ranks_in_words(ranks, late.late);
  if (!late.host.empty()) seen += fmt::format(", all ranks of host {},", late.host);
  seen += late.of_means ? fmt::format(" came last in the mean of {} operations", late.operations)
                        : fmt::format(
                              " came last in {} of the {} operations with noticeable waiting ({} "
                              "compared)",
                              late.blamed, late.waited, late.operations);
  seen += fmt::format(", {}; waiting is {:.0f} % of the transfers{}",
                      late.by_turns ? "by turns" : "and hardly waited", 100 * late.waiting_share,
                      late.sporadic() ? "; late now and then" : "");
  // The chance that ranks are last by turns in this way is small; the rest is what is behind it.
  verdict.causes.push_back({&cause("straggler"), seen,
                            late.operations >= 10 && !late.of_means ? 0.99 : 0.9,
                            job.of_processors ? check_of_late_processors : check_of_late_gpus});
}

void find_slow_network(JobLog& job, JobVerdict& verdict) {
  const NetworkVerdict& network = verdict.network;
  const double share = network.measured_gbs / std::max(network.expected_gbs, 1e-9);
  if (network.state == NetworkState::slow) {
    verdict.causes.push_back(
        {&cause("network_slow"),
         fmt::format(
             "{} GB/s without any waiting where {} are expected ({}): {:.1f} times less, in "
             "{}{}",
             significant(network.measured_gbs, 3), significant(network.expected_gbs, 3),
             network.basis, 1 / share, network.where,
             network.healthy_others == 0
                 ? ""
                 : fmt::format("; the network of {} is healthy",
                               counted(network.healthy_others, "other communicator"))),
         network.assumed ? 0.8 : 0.95});
    constexpr double thousandth = 1. / 200;
    const bool has_no_unit =
        job.formats.contains("Kineto") || job.formats.contains("Horovod timeline");
    if (share < thousandth && has_no_unit) {
      job.note_once(
          "times of Kineto and Horovod are read as microseconds, as they write them: a trace in "
          "nanoseconds throughout would look like this, a thousand times too slow");
    }
  }
  if (!network.odd_size.empty()) {
    verdict.causes.push_back({&cause("switch_misplaced"), network.odd_size, 0.8});
  }
  if (network.disturbed >= 3 && 20 * network.disturbed >= network.judged) {
    verdict.causes.push_back(
        {&cause("congestion"),
         fmt::format("{} of {} large transfers took more than 1.5 times the usual on all ranks",
                     network.disturbed, network.judged),
         0.6});
  }
}

std::string standstill_seen(const JobRanks& ranks, const Standstill& still) {
  std::string seen =
      fmt::format("collective {} of '{}' has not ended", *still.sequence, still.communicator);
  if (!still.missing.empty()) seen += "; not issued by " + ranks_in_words(ranks, still.missing);
  if (!still.missing_elsewhere.empty()) {
    seen += "; other communicators wait for " + ranks_in_words(ranks, still.missing_elsewhere);
  }
  if (!still.not_started.empty()) {
    seen += fmt::format(
        "; {} issued it and {} not started it, others have: the work before it on "
        "that stream has not ended",
        ranks_in_words(ranks, still.not_started), still.not_started.size() == 1 ? "has" : "have");
  }
  if (!still.mismatches.empty()) {
    seen += fmt::format("; ranks disagree: {}", fmt::join(still.mismatches, ", "));
  }
  if (!still.unheard.empty()) {
    seen += fmt::format("; no {}log of rank {}, which may not have issued it",
                        still.some_are_cut ? "whole " : "", fmt::join(still.unheard, ", "));
  }
  if (still.may_go_on) {
    seen += "; the log ends there, which is a standstill only if the job did not go on";
  }
  const bool is_explained =
      !still.missing.empty() || !still.not_started.empty() || !still.mismatches.empty();
  if (is_explained || !still.unheard.empty()) return seen;
  return seen + (still.started_by_all
                     ? "; the kernels of all ranks have started: the network or a kernel hangs"
                     : "; all ranks whose logs are here have issued it: the network, a kernel or "
                       "what a rank does before it hangs, which cannot be told from this");
}

void find_standstill(JobLog& job, const JobRanks& ranks, JobVerdict& verdict) {
  const Standstill& still = verdict.standstill;
  std::vector<std::string> seen;
  double sure = still.may_go_on ? 0.7 : 1;
  if (still.sequence) seen.push_back(standstill_seen(ranks, still));
  if (!still.transfers.empty()) {
    seen.push_back("sends and receives have not ended: " + transfer_words(still));
  }
  if (!still.called_others.empty()) {
    seen.push_back(fmt::format("ranks called different collectives, by their counters: {}",
                               fmt::join(still.called_others, "; ")));
  }
  if (seen.empty() && still.may_be_on_its_way()) {
    job.note_once(
        still.counted_in_logs
            ? "a log may be read or cut while its rank goes on: a rank that is behind in it stands "
              "still only if the job does not go on"
            : "RAS counts while the job runs, and hosts run ahead of each other: a rank that is "
              "behind may be on its way; it stands still if it has the same count when RAS is "
              "asked again");
  }
  if (!job.missing_ranks.empty()) {
    const std::set<int> missing(job.missing_ranks.begin(), job.missing_ranks.end());
    if (seen.empty()) sure = 0.7;
    seen.push_back(
        fmt::format("rank {} is missing by what the log says", fmt::join(missing, ", ")));
  }
  if (!job.absent.empty()) {
    if (seen.empty()) sure = 0.7;
    seen.push_back(fmt::format("the log says that {}", fmt::join(job.absent, ", ")));
  }
  if (seen.empty()) return;
  if (!job.ended.empty()) seen.push_back("the job ended " + job.ended);
  const bool stands = job.ended.empty();
  const Cause& what = cause(stands ? "hang" : "ended_early");
  verdict.causes.push_back(
      {&what, fmt::format("{}", fmt::join(seen, "; ")), sure,
       stands && job.of_processors ? check_of_standing_processors : std::string_view{}});
}

template <typename Holds>
std::vector<std::string> hosts_where(const JobLog& job, const Holds& holds) {
  std::vector<std::string> names;
  for (const auto& [name, signs] : job.hosts) {
    if (holds(signs)) names.push_back(name);
  }
  return names;
}

/// Some channels through adapters pass through the host, and others do not. GPUs without NVLink
/// send through it by default (NCCL_NET_GDR_READ) and receive without.
bool is_partly_staged(const HostSigns& signs) {
  const bool sends_alone = signs.staged_sends == signs.staged_channels && signs.direct_sends == 0;
  return signs.direct_channels > 0 && signs.staged_channels > 0 && !sends_alone;
}

void find_host_causes(const JobLog& job, JobVerdict& verdict) {
  // A job inside one host looks for adapters as well.
  const auto uses_network = [&](const HostSigns& s) {
    return job.hosts.size() > 1 || s.is_of_several ||
           s.direct_channels + s.staged_channels + s.socket_channels > 0;
  };
  const auto add = [&](const char* name, const std::vector<std::string>& hosts,
                       const std::string& what, double sure) {
    if (hosts.empty()) return;
    verdict.causes.push_back(
        {&cause(name), fmt::format("{} on {}", what, fmt::join(hosts, ", ")), sure});
  };
  add("gdr_off",
      hosts_where(job,
                  [&](const HostSigns& s) { return s.direct_disabled > 0 && uses_network(s); }),
      "NCCL says 'GPU Direct RDMA Disabled'", 1);
  add("gdr_off",
      hosts_where(job,
                  [](const HostSigns& s) {
                    return s.direct_disabled == 0 && s.direct_channels == 0 &&
                           s.staged_channels > 0;
                  }),
      "no channel through an adapter has '/GDRDMA'", 0.9);
  std::string parts;
  for (const auto& [name, s] : job.hosts) {
    if (!is_partly_staged(s) || parts.size() > 200) continue;
    parts += fmt::format("{}{} of {}", parts.empty() ? "" : ", ", s.staged_channels,
                         s.staged_channels + s.direct_channels);
  }
  add("gdr_off", hosts_where(job, is_partly_staged),
      "channels through adapters without '/GDRDMA': " + parts, 0.8);
  std::size_t most = 0;
  for (const auto& [name, signs] : job.hosts) most = std::max(most, signs.adapters.size());
  const auto lacks = [&](const HostSigns& s) {
    return uses_network(s) && !s.adapters.empty() &&
           (s.adapters.size() < most || static_cast<int>(s.adapters.size()) < s.devices);
  };
  std::string counts;
  for (const auto& [name, s] : job.hosts) {
    if (!lacks(s)) continue;
    counts += fmt::format("{}{} ({}) for {} GPUs", counts.empty() ? "" : ", ", s.adapters.size(),
                          fmt::join(s.adapters, " "), s.devices);
    if (counts.size() > 200) break;
  }
  // Some machines are built with fewer adapters than GPUs.
  add("nic_missing", hosts_where(job, lacks), "adapters in use: " + counts, 0.7);
  const auto without_nvls = hosts_where(job, [](const HostSigns& s) { return s.nvls == 0; });
  // GPUs without NVLink switches say so too; where others of the job have it, it is off.
  if (without_nvls.size() < job.hosts.size() &&
      !hosts_where(job, [](const HostSigns& s) { return s.nvls == 1; }).empty()) {
    add("nvls_off", without_nvls, "NCCL says 'NVLS multicast support is not available'", 0.9);
  }
  for (const auto& [name, s] : job.hosts) {
    if (s.failures.empty()) continue;
    add("network_error", {name}, fmt::format("NCCL warns '{}'", fmt::join(s.failures, "', '")),
        0.95);
  }
  add("sockets", hosts_where(job, [&](const HostSigns& s) { return s.sockets && uses_network(s); }),
      "NCCL says 'Using network Socket'", 1);
  add("sockets",
      hosts_where(job, [](const HostSigns& s) { return !s.sockets && s.socket_channels > 0; }),
      "channels go 'via NET/Socket'", 1);
  add("host_staging", hosts_where(job, [](const HostSigns& s) { return s.through_host; }),
      "channels between GPUs of one host go 'via SHM'", 0.9);
}

void find_choices(const JobLog& job, JobVerdict& verdict) {
  for (const SizeFigures& row : verdict.sizes) {
    if (row.protocol == 0 || job.words[row.protocol] != "ll" || row.bytes < large_for_ll) continue;
    verdict.causes.push_back(
        {&cause("ll_at_large"),
         fmt::format("{} of {} with protocol LL, {} times", to_string(row.kind),
                     to_string(Bytes{row.bytes}), row.operations),
         1});
    return;
  }
}

}  // namespace

void find_causes(JobLog& job, const JobRanks& ranks, JobVerdict& verdict) {
  find_standstill(job, ranks, verdict);
  find_late(job, ranks, verdict);
  find_slow_network(job, verdict);
  find_host_causes(job, verdict);
  find_choices(job, verdict);
  std::stable_sort(verdict.causes.begin(), verdict.causes.end(),
                   [](const FoundCause& a, const FoundCause& b) { return a.sure > b.sure; });
}

}  // namespace collbench

#include "bench/logs/standstill.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace collbench {
namespace {

/// What the ranks of one communicator have issued.
struct Issued {
  std::map<int, std::int64_t> latest;             // sequence by rank in the communicator
  std::map<int, std::set<std::int64_t>> of_rank;  // from the first open one on
  std::optional<std::int64_t> first_open;
};

/// What one rank has completed all have entered: another that has not is behind in its log only.
using Completed = std::set<std::tuple<int, LoggedKind, std::int64_t>>;
Completed completed_of(const JobLog& job) {
  Completed completed;
  if (std::none_of(job.records.begin(), job.records.end(), [](const LogRecord& record) {
        return record.state != RecordState::completed;
      })) {
    return completed;  // a million records need no table
  }
  for (const LogRecord& record : job.records) {
    if (record.state != RecordState::completed || !waits_for_all(record.kind)) continue;
    completed.insert({record.communicator, record.kind, record.sequence});
  }
  return completed;
}

std::map<int, Issued> issued_of(const JobLog& job) {
  std::map<int, Issued> all;
  const Completed completed = completed_of(job);
  for (const LogRecord& record : job.records) {
    if (record.state == RecordState::completed) continue;
    if (completed.contains({record.communicator, record.kind, record.sequence})) continue;
    std::optional<std::int64_t>& first = all[record.communicator].first_open;
    first = std::min(first.value_or(record.sequence), record.sequence);
  }
  for (const LogRecord& record : job.records) {
    const auto found = all.find(record.communicator);
    if (found == all.end()) continue;
    Issued& one = found->second;
    const auto latest = one.latest.try_emplace(record.rank, record.sequence).first;
    latest->second = std::max(latest->second, record.sequence);
    if (record.sequence >= *one.first_open) one.of_rank[record.rank].insert(record.sequence);
  }
  return all;
}

/// Ranks of the job that have a log, by the numbers that the logs state.
std::set<int> logged_ranks(const JobLog& job) {
  std::set<int> logged;
  for (const JobProcess& process : job.processes) {
    if (process.rank >= 0) logged.insert(process.rank);
  }
  return logged;
}

void find_missing(const JobLog& job, const JobRanks& ranks, int communicator, const Issued& issued,
                  Standstill& found) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const std::set<int> logged = logged_ranks(job);
  const int members = std::max(one.ranks, static_cast<int>(one.members.size()));
  const bool are_renumbered = std::any_of(
      issued.latest.begin(), issued.latest.end(),
      [&](const auto& heard) { return ranks.in_job(communicator, heard.first) != heard.first; });
  for (int rank = 0; rank < members; ++rank) {
    const auto latest = issued.latest.find(rank);
    const int in_job = ranks.in_job(communicator, rank);
    if (latest == issued.latest.end()) {
      // Which rank of the job it is, a list of the members would say.
      if (are_renumbered && one.members.empty()) continue;
      const bool was_heard = logged.contains(in_job) && !one.heard_when_stuck;
      (was_heard ? found.missing : found.unheard).push_back(in_job);
    } else if (latest->second < *issued.first_open) {
      found.missing.push_back(in_job);
    }
  }
}

/// A kernel starts when its stream comes to it. Where no start is seen at all, they may not be
/// recorded: PyTorch has them with TORCH_NCCL_ENABLE_TIMING only.
void find_not_started(const JobLog& job, const JobRanks& ranks, int communicator,
                      std::int64_t sequence, Standstill& found) {
  std::set<int> started;
  std::set<int> scheduled;
  for (const LogRecord& record : job.records) {
    if (record.communicator != communicator || record.sequence != sequence) continue;
    if (record.state == RecordState::completed) continue;
    (record.state == RecordState::started ? started : scheduled).insert(ranks.in_job(record));
  }
  if (started.empty()) return;
  found.not_started.assign(scheduled.begin(), scheduled.end());
  found.started_by_all = scheduled.empty() && found.missing.empty() && found.unheard.empty();
}

void find_mismatches(const JobLog& job, const JobRanks& ranks, int communicator,
                     std::int64_t sequence, Standstill& found) {
  std::map<std::pair<LoggedKind, std::int64_t>, std::vector<int>> calls;
  for (const LogRecord& record : job.records) {
    if (record.communicator != communicator || record.sequence != sequence) continue;
    calls[{record.kind, record.bytes}].push_back(ranks.in_job(record));
  }
  if (calls.size() < 2) return;
  for (const auto& [call, callers] : calls) {
    found.mismatches.push_back(
        fmt::format("{} of {} by {} {}", to_string(call.first), to_string(Bytes{call.second}),
                    callers.size() == 1 ? "rank" : "ranks", fmt::join(callers, ", ")));
  }
}

void find_behind(const JobLog& job, const JobRanks& ranks, Standstill& found) {
  std::map<std::pair<int, LoggedKind>, std::int64_t> most;
  for (const IssuedCount& issued : job.issued) {
    std::int64_t& count = most[{issued.communicator, issued.kind}];
    count = std::max(count, issued.count);
  }
  std::set<int> behind;
  for (const IssuedCount& issued : job.issued) {
    const std::int64_t lacking = most[{issued.communicator, issued.kind}] - issued.count;
    if (lacking > 0) {
      found.behind_by = std::max(found.behind_by, lacking);
      behind.insert(ranks.in_job(issued.communicator, issued.rank));
    }
  }
  found.behind.assign(behind.begin(), behind.end());
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace

std::string standstill_words(const Standstill& still) {
  if (!still.missing.empty()) return "not issued by " + ranks_text(still.missing);
  if (!still.mismatches.empty()) return "where ranks call different collectives";
  std::string words = "issued by all ranks whose logs are here";
  if (!still.not_started.empty()) words += ", not started by " + ranks_text(still.not_started);
  if (!still.unheard.empty()) {
    words += fmt::format("; whether {} issued it cannot be told", ranks_text(still.unheard));
  }
  return words;
}

Standstill standstill_of(const JobLog& job, const JobRanks& ranks) {
  Standstill found;
  find_behind(job, ranks, found);
  for (const auto& [communicator, issued] : issued_of(job)) {
    Standstill here;
    here.sequence = issued.first_open;
    here.communicator = job.communicators[static_cast<std::size_t>(communicator)].name;
    find_missing(job, ranks, communicator, issued, here);
    find_not_started(job, ranks, communicator, *here.sequence, here);
    find_mismatches(job, ranks, communicator, *here.sequence, here);
    // What one communicator's missing rank waits for may hold up others: that one explains most.
    const auto explained = [](const Standstill& still) {
      return !still.missing.empty() ? 2 : !still.not_started.empty() ? 1 : 0;
    };
    if (found.sequence && explained(here) <= explained(found)) continue;
    here.behind = found.behind;
    here.behind_by = found.behind_by;
    found = here;
  }
  std::sort(found.missing.begin(), found.missing.end());
  return found;
}

}  // namespace collbench

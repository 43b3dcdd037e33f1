#include "bench/logs/standstill.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace collbench {
namespace {

/// What the ranks of one communicator have issued.
struct Issued {
  std::map<int, std::int64_t> latest;  // sequence by rank in the communicator
  std::optional<std::int64_t> first_open;
  std::set<int> of_first_open;  // ranks with a record of it
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

/// Likewise all that a rank says to have completed, by communicator: up to the last collective
/// among it in which each needs something of all.
std::map<int, std::int64_t> said_completed(const JobLog& job) {
  std::map<int, std::int64_t> through;
  for (const LogRecord& record : job.records) {
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(record.communicator)];
    if (!waits_for_all(record.kind) || record.sequence > one.completed_through) continue;
    std::int64_t& last = through.try_emplace(record.communicator, -1).first->second;
    last = std::max(last, record.sequence);
  }
  return through;
}

std::vector<const LogRecord*> open_records(const JobLog& job) {
  std::vector<const LogRecord*> open;
  const Completed completed = completed_of(job);
  const std::map<int, std::int64_t> said = said_completed(job);
  for (const LogRecord& record : job.records) {
    if (record.state == RecordState::completed) continue;
    if (completed.contains({record.communicator, record.kind, record.sequence})) continue;
    const auto through = said.find(record.communicator);
    if (through == said.end() || record.sequence > through->second) open.push_back(&record);
  }
  return open;
}

std::map<int, Issued> issued_of(const JobLog& job, const std::vector<const LogRecord*>& open) {
  std::map<int, Issued> all;
  for (const LogRecord* record : open) {
    std::optional<std::int64_t>& first = all[record->communicator].first_open;
    first = std::min(first.value_or(record->sequence), record->sequence);
  }
  for (const LogRecord& record : job.records) {
    const auto found = all.find(record.communicator);
    if (found == all.end()) continue;
    Issued& one = found->second;
    const auto latest = one.latest.try_emplace(record.rank, record.sequence).first;
    latest->second = std::max(latest->second, record.sequence);
    if (record.sequence == *one.first_open) one.of_first_open.insert(record.rank);
  }
  return all;
}

/// Ranks of the job that have a log, by the numbers that the logs state: whole ones, or those that
/// were cut.
std::set<int> logged_ranks(const JobLog& job, bool are_cut) {
  std::set<int> logged;
  for (const JobProcess& process : job.processes) {
    if (process.rank >= 0 && process.is_cut == are_cut) logged.insert(process.rank);
  }
  return logged;
}

void find_missing(const JobLog& job, const JobRanks& ranks, int communicator, const Issued& issued,
                  Standstill& found) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const std::set<int> whole = logged_ranks(job, false);
  const std::set<int> cut = logged_ranks(job, true);
  const int members = std::max(one.ranks, static_cast<int>(one.members.size()));
  // Its log has later ones: of before the communicator was made anew, or after it was overwritten.
  std::set<int> lacking;
  const bool are_renumbered = std::any_of(
      issued.latest.begin(), issued.latest.end(),
      [&](const auto& heard) { return ranks.in_job(communicator, heard.first) != heard.first; });
  for (int rank = 0; rank < members; ++rank) {
    const auto latest = issued.latest.find(rank);
    const int in_job = ranks.in_job(communicator, rank);
    if (latest == issued.latest.end()) {
      // Which rank of the job it is, a list of the members would say.
      if (are_renumbered && one.members.empty()) continue;
      const bool was_heard = whole.contains(in_job) && !one.heard_when_stuck;
      (was_heard ? found.missing : found.unheard).push_back(in_job);
    } else if (latest->second < *issued.first_open) {
      (cut.contains(in_job) ? found.unheard : found.missing).push_back(in_job);
    } else if (!issued.of_first_open.contains(rank)) {
      lacking.insert(in_job);
    }
  }
  found.unheard.insert(found.unheard.end(), lacking.begin(), lacking.end());
  found.some_are_cut =
      !lacking.empty() || std::any_of(found.unheard.begin(), found.unheard.end(),
                                      [&](int rank) { return cut.contains(rank); });
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

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

/// The parts of an all-to-all or a scatter may differ, and what a root has of it.
bool have_one_size(LoggedKind kind) {
  return kind != LoggedKind::all_to_all && kind != LoggedKind::other;
}

void find_mismatches(const JobLog& job, const JobRanks& ranks, int communicator,
                     std::int64_t sequence, Standstill& found) {
  using Call = std::tuple<LoggedKind, std::int64_t, std::uint8_t>;
  std::map<Call, std::vector<int>> calls;
  std::map<int, std::set<Call>> of_rank;  // several, where they are coalesced
  std::set<std::uint8_t> types;
  for (const LogRecord& record : job.records) {
    if (record.communicator != communicator || record.sequence != sequence) continue;
    const std::int64_t bytes = have_one_size(record.kind) ? record.bytes : -1;
    const int rank = ranks.in_job(record);
    const Call call{record.kind, bytes, record.elements};
    if (of_rank[rank].insert(call).second) calls[call].push_back(rank);
    types.insert(record.elements);
  }
  const bool are_alike = std::all_of(of_rank.begin(), of_rank.end(), [&](const auto& one) {
    return one.second == of_rank.begin()->second;
  });
  if (are_alike) return;
  for (const auto& [call, callers] : calls) {
    const auto& [kind, bytes, elements] = call;
    const std::string& type = job.words[elements];
    found.mismatches.push_back(fmt::format(
        "{}{}{} by {}", to_string(kind), bytes < 0 ? "" : " of " + to_string(Bytes{bytes}),
        types.size() < 2 || type.empty() ? "" : " (" + type + ")", ranks_text(callers)));
  }
}

using Counts = std::map<LoggedKind, std::int64_t>;

/// Each issues the collectives of a communicator in one order: of two ranks one has issued at least
/// as many of every kind, unless they called different ones.
bool are_crossed(const Counts& a, const Counts& b) {
  bool has_more = false;
  bool has_fewer = false;
  for (const auto& [kind, count] : a) {
    const auto other = b.find(kind);
    if (other == b.end()) continue;
    has_more = has_more || count > other->second;
    has_fewer = has_fewer || count < other->second;
  }
  return has_more && has_fewer;
}

/// The counts that most ranks have.
Counts usual_counts(const std::map<int, Counts>& by_rank) {
  std::map<Counts, int> holders;
  for (const auto& [rank, counts] : by_rank) ++holders[counts];
  return std::max_element(holders.begin(), holders.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// "rank 4 called 899 x all-reduce, 5 x all-gather, most others 900 and 4".
std::string crossed_words(int rank, const Counts& counts, const Counts& usual) {
  std::vector<std::string> own;
  std::vector<std::string> others;
  for (const auto& [kind, count] : counts) {
    const auto other = usual.find(kind);
    if (other == usual.end() || other->second == count) continue;
    own.push_back(fmt::format("{} x {}", count, to_string(kind)));
    others.push_back(std::to_string(other->second));
  }
  return fmt::format("rank {} called {}, most others {}", rank, fmt::join(own, ", "),
                     fmt::join(others, " and "));
}

void find_behind(const JobLog& job, const JobRanks& ranks, Standstill& found) {
  std::map<int, std::map<int, Counts>> communicators;
  for (const IssuedCount& issued : job.issued) {
    const int rank = ranks.in_job(issued.communicator, issued.rank);
    std::int64_t& count = communicators[issued.communicator][rank][issued.kind];
    count = std::max(count, issued.count);
  }
  std::set<int> behind;
  for (auto& [communicator, by_rank] : communicators) {
    const Counts usual = usual_counts(by_rank);
    std::erase_if(by_rank, [&](const auto& one) {
      if (!are_crossed(one.second, usual)) return false;
      found.called_others.push_back(crossed_words(one.first, one.second, usual));
      return true;
    });
    Counts most;
    for (const auto& [rank, counts] : by_rank) {
      for (const auto& [kind, count] : counts) most[kind] = std::max(most[kind], count);
    }
    for (const auto& [rank, counts] : by_rank) {
      for (const auto& [kind, count] : counts) {
        if (count == most[kind]) continue;
        found.behind_by = std::max(found.behind_by, most[kind] - count);
        behind.insert(rank);
      }
    }
  }
  found.behind.assign(behind.begin(), behind.end());
  found.counted_in_logs = job.issued_is_of_logs;
}

/// Of each rank the first that has not ended.
void find_transfers(const JobLog& job, const JobRanks& ranks, Standstill& found) {
  if (job.open_transfers.empty()) return;
  std::set<int> busy;
  std::set<int> peers;
  for (const OpenTransfer& one : job.open_transfers) {
    if (!busy.insert(one.rank).second) continue;
    const std::string peer = one.peer < 0 ? "another" : fmt::format("rank {}", one.peer);
    found.transfers.push_back(
        fmt::format("rank {} in a {} {} ({})", one.rank, one.sends ? "send to" : "receive from",
                    peer, one.state == RecordState::started ? "started" : "scheduled"));
    peers.insert(one.peer);
  }
  for (const LogRecord& record : job.records) {
    if (record.state != RecordState::completed) busy.insert(ranks.in_job(record));
  }
  const std::set<int> whole = logged_ranks(job, false);
  for (const int peer : peers) {
    if (whole.contains(peer) && !busy.contains(peer)) found.waited_for.push_back(peer);
  }
}

/// Of the ranks that others wait for those that wait in nothing themselves: what holds up the
/// others holds up the job. Where all have sends or receives open, those may have been issued
/// ahead.
std::set<int> idle_ranks(const JobLog& job, const JobRanks& ranks,
                         const std::vector<const LogRecord*>& open,
                         const std::map<int, Standstill>& stills) {
  std::set<int> idle;
  for (const auto& [communicator, still] : stills) {
    idle.insert(still.missing.begin(), still.missing.end());
  }
  for (const LogRecord* record : open) idle.erase(ranks.in_job(*record));
  std::set<int> without_transfers = idle;
  for (const OpenTransfer& one : job.open_transfers) without_transfers.erase(one.rank);
  return without_transfers.empty() ? idle : without_transfers;
}

/// Where some wait in one communicator for others, which wait for them in another: each called the
/// two in an order of its own, and none is missing.
void find_opposite_orders(const JobRanks& ranks, const std::vector<const LogRecord*>& open,
                          std::map<int, Standstill>& stills) {
  std::map<int, std::set<int>> callers;  // by communicator
  for (const LogRecord* record : open) {
    const auto still = stills.find(record->communicator);
    if (still == stills.end() || record->sequence != *still->second.sequence) continue;
    callers[record->communicator].insert(ranks.in_job(*record));
  }
  const auto are_in = [&](const std::vector<int>& some, int communicator) {
    const std::set<int>& all = callers[communicator];
    return !some.empty() &&
           std::all_of(some.begin(), some.end(), [&](int rank) { return all.contains(rank); });
  };
  const auto words = [&](int communicator) {
    const Standstill& still = stills.at(communicator);
    const std::set<int>& all = callers[communicator];
    return fmt::format("collective {} of '{}' by {}", *still.sequence, still.communicator,
                       ranks_text({all.begin(), all.end()}));
  };
  for (auto& [first, a] : stills) {
    for (auto& [second, b] : stills) {
      if (first == second || !are_in(a.missing, second) || !are_in(b.missing, first)) continue;
      a.missing.clear();
      b.missing.clear();
      a.mismatches = b.mismatches = {words(first), words(second)};
    }
  }
}

}  // namespace

std::string standstill_words(const Standstill& still) {
  if (!still.missing.empty()) {
    std::string words = "not issued by " + ranks_text(still.missing);
    if (still.missing_elsewhere.empty()) return words;
    return words + "; other communicators wait for " + ranks_text(still.missing_elsewhere);
  }
  if (!still.mismatches.empty()) return "where ranks call different collectives";
  std::string words = "issued by all ranks whose logs are here";
  if (!still.not_started.empty()) words += ", not started by " + ranks_text(still.not_started);
  if (!still.unheard.empty()) {
    words += fmt::format("; whether {} issued it cannot be told", ranks_text(still.unheard));
  }
  return words;
}

std::string transfer_words(const Standstill& still) {
  constexpr std::size_t most_named = 8;
  if (still.transfers.empty()) return {};
  const std::size_t named = std::min(still.transfers.size(), most_named);
  std::string words = fmt::format("{}", fmt::join(std::span(still.transfers).first(named), ", "));
  if (still.transfers.size() > named) {
    words += fmt::format(" and {} more", still.transfers.size() - named);
  }
  if (still.waited_for.empty()) return words;
  return words + fmt::format("; {} {} nothing open", ranks_text(still.waited_for),
                             still.waited_for.size() == 1 ? "has" : "have");
}

Standstill standstill_of(const JobLog& job, const JobRanks& ranks) {
  Standstill all;
  find_behind(job, ranks, all);
  find_transfers(job, ranks, all);
  const std::vector<const LogRecord*> open = open_records(job);
  std::map<int, Standstill> stills;
  for (const auto& [communicator, issued] : issued_of(job, open)) {
    Standstill& here = stills.emplace(communicator, all).first->second;
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
    here.sequence = issued.first_open;
    here.communicator = one.name;
    here.may_go_on = one.may_go_on;
    find_missing(job, ranks, communicator, issued, here);
    find_not_started(job, ranks, communicator, *here.sequence, here);
    find_mismatches(job, ranks, communicator, *here.sequence, here);
  }
  if (stills.empty()) return all;
  find_opposite_orders(ranks, open, stills);
  std::set<int> elsewhere = idle_ranks(job, ranks, open, stills);
  const auto explained = [&](const Standstill& still) {
    const auto idle = std::count_if(still.missing.begin(), still.missing.end(),
                                    [&](int rank) { return elsewhere.contains(rank); });
    // Those that are missing may all wait in a collective for a rank without a log.
    const bool may_lack_unheard =
        elsewhere.empty() && still.missing.empty() && !still.unheard.empty();
    return std::tuple(may_lack_unheard             ? 3
                      : !still.missing.empty()     ? 2
                      : !still.not_started.empty() ? 1
                                                   : 0,
                      idle);
  };
  Standstill found =
      std::max_element(stills.begin(), stills.end(), [&](const auto& a, const auto& b) {
        return explained(a.second) < explained(b.second);
      })->second;
  std::sort(found.missing.begin(), found.missing.end());
  for (const int rank : found.missing) elsewhere.erase(rank);
  found.missing_elsewhere.assign(elsewhere.begin(), elsewhere.end());
  // What differs between ranks, and what the job said when it ended, is no matter of time.
  if (!found.mismatches.empty() || !job.ended.empty() || !job.missing_ranks.empty()) {
    found.may_go_on = false;
  }
  return found;
}

}  // namespace collbench

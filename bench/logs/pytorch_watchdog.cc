// What PyTorch's watchdog and torchrun write into a job's output when it stands still or ends:
// which collective each rank waits in, how far it has come in it, and which rank failed first.
//
// A message stands anywhere in a line, behind whatever a launcher puts before it. Its rank is that
// of the process group: "[rank12]:" before it, where it is there, is the rank in the job. The line
// of the timeout has no group; the next one of the rank with that number names it. A report on
// ranks that are out of step is of the line before it or, in newer versions, of the rank's next
// one. Source: pytorch/pytorch, torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp and TraceUtils.h
// of 1.12 to 2.9.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/foreign/launcher_tags.h"
#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "bench/logs/torchrun_report.h"
#include "bench/logs/watchdog_lines.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

/// Where a rank of a group is.
struct WatchedRank {
  int job_rank = -1;
  std::optional<std::int64_t> waits_in;
  std::int64_t enqueued = -1;
  std::int64_t completed = -1;  // -1: not said
};
struct WatchedCall {
  LoggedKind kind = LoggedKind::other;
  std::int64_t bytes = 0;
};

class WatchdogReader {
 public:
  WatchdogReader(const std::string& file, JobLog& job) : file_(file), job_(job) {}

  void take(std::string_view line) {
    restarted_ = restarted_ || mentions(line, "will restart worker group");
    was_reported_ = was_reported_ || mentions(line, "Root Cause (first observed failure)");
    if (line.find("Watchdog caught collective operation timeout") != line.npos) {
      take_timeout(line);
    } else if (line.find("ast enqueued ") != line.npos) {
      begin_attempt();
      take_state(line);
    } else if (line.find(" collective #") != line.npos ||
               line.find("are the lagging") != line.npos) {
      begin_attempt();
      take_desync(line);
    } else if (line.find(" failed to pass monitoredBarrier in") != line.npos) {
      begin_attempt();
      take_barrier(line);
    } else if (const auto rank = head_of_report(line)) {
      current_.reset();
      reporter_ = *rank;
    } else {
      torchrun_.take(trimmed(line.substr(launcher_tag(line).size())));
    }
  }

  void finish() {
    for (const auto& [rank, timeout] : unplaced_)
      place(likely_group(rank, timeout.sequence), "", rank, timeout);
    Group& first = groups_.empty() ? groups_[""] : groups_.begin()->second;
    for (const auto& [reporter, ranks] : reports_) {
      if (groups_.size() == 1) {
        add_report(ranks, first);
      } else {
        job_.left_out["ranks of reports by PyTorch whose group is not said"] +=
            static_cast<std::int64_t>(ranks.size());
      }
    }
    bool waits = false;
    for (const auto& [id, group] : groups_) waits = add_group(id, group) || waits;
    if (waits) {
      job_.note_once(
          "PyTorch's watchdog does not say how many ranks a group has: as many as the highest that "
          "it names; nor the type of elements: sizes are those of 4 bytes each");
    }
    if (earlier_attempts_ > 0) {
      job_.note_once(fmt::format("torchrun started the job anew: what {} wrote does not count",
                                 counted(earlier_attempts_, "earlier attempt")));
    }
    job_.missing_ranks.insert(job_.missing_ranks.end(), not_at_barrier_.begin(),
                              not_at_barrier_.end());
    // Ranks that waited end in their own ways.
    if (!waits && not_at_barrier_.empty() && transfers_.empty()) job_.ended = torchrun_.ended();
    for (const auto& [rank, transfer] : transfers_) job_.open_transfers.push_back(transfer.second);
  }

 private:
  struct Timeout {
    std::int64_t sequence = 0;
    int rank = -1;  // in the group
    WatchedCall call;
  };
  struct Group {
    std::string name;
    std::map<int, WatchedRank> ranks;
    std::map<std::pair<int, std::int64_t>, WatchedCall> calls;  // by rank and number
  };

  /// What comes after a restart is of another attempt than what came before.
  void begin_attempt() {
    if (!std::exchange(restarted_, false)) return;
    was_reported_ = false;
    timed_out_.clear();
    if (groups_.empty() && unplaced_.empty() && transfers_.empty() && not_at_barrier_.empty())
      return;
    ++earlier_attempts_;
    groups_.clear();
    unplaced_.clear();
    transfers_.clear();
    not_at_barrier_.clear();
    reports_.clear();
    current_.reset();
    reporter_ = -1;
  }

  void take_timeout(std::string_view line) {
    const WatchedGroup group = watched_group(line);
    const auto sequence = number_behind(line, "SeqNum=");
    if (group.job_rank < 0 || !sequence) {
      ++job_.left_out["timeouts of PyTorch's watchdog without rank or number"];
      return;
    }
    // A rank times out once, and then the job ends.
    restarted_ = restarted_ || (was_reported_ && timed_out_.contains(group.job_rank));
    begin_attempt();
    timed_out_.insert(group.job_rank);
    const std::size_t name = line.find("OpType=");
    Timeout timeout{*sequence, group.rank, {}};
    if (name != line.npos) {
      const std::string_view type = line.substr(name + 7);
      timeout.call.kind = logged_kind(type.substr(0, type.find_first_of(",)")));
      // Their numbers are those of the rank's own transfers.
      if (timeout.call.kind == LoggedKind::point_to_point) {
        const OpenTransfer open{group.job_rank, -1, type.starts_with("SEND"), RecordState::started};
        transfers_.try_emplace(group.job_rank, *sequence, open);
        return;
      }
    }
    // A share of a rank is the smaller side; one of -1 is not said.
    const std::int64_t in = number_behind(line, "NumelIn=").value_or(0);
    const std::int64_t out = number_behind(line, "NumelOut=").value_or(in);
    const std::int64_t elements = std::clamp<std::int64_t>(std::min(in, out), 0, 1LL << 48);
    timeout.call.bytes = 4 * elements;
    // It comes again, with the group, when the watchdog's thread ends.
    if (group.id.empty()) {
      unplaced_[group.job_rank] = timeout;
    } else {
      place(group.id, group.name, group.job_rank, timeout);
    }
  }

  void place(const std::string& id, const std::string& name, int job_rank, const Timeout& timeout) {
    Group& group = groups_[id];
    if (group.name.empty()) group.name = name;
    WatchedRank& rank = group.ranks[timeout.rank];
    rank.job_rank = job_rank;
    rank.waits_in = std::min(rank.waits_in.value_or(timeout.sequence), timeout.sequence);
    group.calls[{timeout.rank, timeout.sequence}] = timeout.call;
  }

  // "... at work: 5, last enqueued NCCL work: 7, last completed NCCL work: 4" in several wordings;
  // a rank that was only asked to write its state says no work that it waits in.
  void take_state(std::string_view line) {
    const WatchedGroup found = watched_group(line);
    const std::size_t at = line.find("ast enqueued ");
    const auto enqueued = number_behind(line.substr(at), "work: ");
    const std::size_t behind = line.find("last completed ");
    const auto completed =
        behind == line.npos ? std::nullopt : number_behind(line.substr(behind), "work: ");
    if (found.rank < 0 || found.job_rank < 0 || !enqueued || !completed) {
      ++job_.left_out["states of PyTorch's watchdog that were cut short"];
      return;
    }
    const auto transfer = transfers_.find(found.job_rank);
    if (transfer != transfers_.end() &&
        transfer->second.first == number_waited_in(line.substr(0, at))) {
      return;
    }
    Group& group = groups_[found.id];
    current_ = found.id;
    if (group.name.empty()) group.name = found.name;
    WatchedRank& rank = group.ranks[found.rank];
    rank.job_rank = found.job_rank;
    rank.enqueued = std::max(rank.enqueued, *enqueued);
    rank.completed = std::max(rank.completed, *completed);
    for (const int reporter : {found.job_rank, -1}) {
      const auto report = reports_.extract(reporter);
      if (!report.empty()) add_report(report.mapped(), group);
    }
    const auto sequence = number_waited_in(line.substr(0, at));
    const auto timeout = unplaced_.find(found.job_rank);
    if (timeout != unplaced_.end() && sequence == timeout->second.sequence) {
      place(found.id, found.name, found.job_rank, timeout->second);
      unplaced_.erase(timeout);
    } else if (sequence) {
      rank.waits_in = std::min(rank.waits_in.value_or(*sequence), *sequence);
    }
  }

  // TORCH_NCCL_DESYNC_DEBUG: "[0, 2] finished collective #4, but didn't join collective #5".
  void take_desync(std::string_view line) {
    const bool never = line.find("are the lagging") != line.npos;
    const bool joined = line.find("joined but didn't finish") != line.npos;
    const bool left = line.find("but didn't join") != line.npos;
    const auto number = number_behind(line, "collective #");
    if (!(never || ((joined || left) && number))) return;
    const std::size_t dash = line.rfind(" - ");
    for (const int at : listed_ranks(line.substr(dash == line.npos ? 0 : dash))) {
      WatchedRank& rank = (current_ ? groups_[*current_].ranks : reports_[reporter_])[at];
      rank.completed = std::max(rank.completed, never ? 0 : *number - (joined ? 1 : 0));
      rank.enqueued = std::max(rank.enqueued, never ? 0 : *number);
      if (joined) rank.waits_in = *number;
    }
  }

  // "[rank0]:[E515 18:36:47 ProcessGroupNCCL.cpp:1937] Rank 0": a report follows.
  static std::optional<int> head_of_report(std::string_view line) {
    const std::size_t at = line.rfind("] Rank ");
    if (at == line.npos || line.find("ProcessGroupNCCL.cpp") == line.npos) return std::nullopt;
    return small_integer_in(trimmed(line.substr(at + 7)), 0, most_watched_ranks);
  }

  static void add_report(const std::map<int, WatchedRank>& ranks, Group& group) {
    for (const auto& [at, said] : ranks) {
      WatchedRank& rank = group.ranks[at];
      rank.completed = std::max(rank.completed, said.completed);
      rank.enqueued = std::max(rank.enqueued, said.enqueued);
      if (said.waits_in) rank.waits_in = said.waits_in;
    }
  }

  // "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms", or "Ranks 1, 2".
  void take_barrier(std::string_view line) {
    line = line.substr(0, line.find(" failed to pass"));
    const std::size_t at = line.rfind("Rank");
    const std::size_t first = at == line.npos ? at : line.find_first_of("0123456789", at);
    if (first == line.npos) return;
    for (const std::string& rank : split_at(line.substr(first), ',')) {
      const auto number = small_integer_in(trimmed(rank), 0, most_watched_ranks);
      if (number) not_at_barrier_.push_back(*number);
    }
  }

  /// Of a timeout whose group was cut off: that in which the rank waits there, else the only one
  /// that it speaks of, else the only one.
  std::string likely_group(int job_rank, std::int64_t sequence) const {
    std::vector<std::string> of_rank;
    for (const auto& [id, group] : groups_) {
      for (const auto& [at, rank] : group.ranks) {
        if (rank.job_rank != job_rank) continue;
        if (rank.waits_in == sequence) return id;
        of_rank.push_back(id);
      }
    }
    if (of_rank.size() == 1) return of_rank.front();
    return of_rank.empty() && groups_.size() == 1 ? groups_.begin()->first : "";
  }

  bool add_group(const std::string& id, const Group& group) {
    const std::optional<std::int64_t> first = first_open(group);
    if (!first) return false;
    if (id.empty()) note_groups(group);
    const int ranks = group.ranks.rbegin()->first + 1;
    const std::string label = id.empty() ? "group without a name" : "group " + id;
    const int communicator =
        job_.communicator("PyTorch's " + label, group.name.empty() ? label : group.name, 0);
    JobCommunicator& made = job_.communicators[static_cast<std::size_t>(communicator)];
    made.ranks = std::max(made.ranks, ranks);
    made.heard_when_stuck = true;
    for (const auto& [at, rank] : group.ranks) {
      LogRecord record;
      record.communicator = communicator;
      record.rank = at;
      const int in_job = rank.job_rank < 0 ? at : rank.job_rank;
      record.process = job_.process(fmt::format("PyTorch's rank {}", in_job));
      JobProcess& process = job_.processes[static_cast<std::size_t>(record.process)];
      process.name = printable(file_);
      process.rank = in_job;
      record.sequence = latest_of(rank, *first);
      record.state = record.sequence >= *first ? RecordState::scheduled : RecordState::completed;
      if (rank.waits_in) {
        note_left_behind(in_job, *rank.waits_in, *first, call_of(group, at, *rank.waits_in).kind,
                         made.name);
      }
      const auto call = call_of(group, at, record.sequence);
      record.kind = call.kind;
      record.bytes = call.bytes;
      job_.records.push_back(record);
    }
    return true;
  }

  /// The first collective that a rank waits in and none has completed; where each was completed by
  /// some rank, the first that one waits in.
  static std::optional<std::int64_t> first_open(const Group& group) {
    std::int64_t completed = -1;
    for (const auto& [at, rank] : group.ranks) completed = std::max(completed, rank.completed);
    std::optional<std::int64_t> first;
    std::optional<std::int64_t> open;
    const auto take = [](std::optional<std::int64_t>& least, std::int64_t one) {
      least = std::min(least.value_or(one), one);
    };
    for (const auto& [at, rank] : group.ranks) {
      if (!rank.waits_in) continue;
      take(first, *rank.waits_in);
      if (*rank.waits_in > completed) take(open, *rank.waits_in);
    }
    return open ? open : first;
  }

  /// In one group no rank gets a hundred collectives ahead of another.
  void note_groups(const Group& group) {
    std::set<std::int64_t> waits;
    for (const auto& [at, rank] : group.ranks) {
      if (rank.waits_in) waits.insert(*rank.waits_in);
    }
    if (*waits.rbegin() - *waits.begin() < 100) return;
    job_.note_once(fmt::format(
        "PyTorch's watchdog does not say here which groups its timeouts are of: those of {} to {} "
        "are likely of several, whose missing ranks cannot be told",
        *waits.begin(), *waits.rbegin()));
  }

  /// How far a rank has come, as the number of a collective: `first` if it waits there or has
  /// issued that. One that is past the number that others wait in is not missing from it.
  static std::int64_t latest_of(const WatchedRank& rank, std::int64_t first) {
    if (rank.waits_in) {
      return *rank.waits_in < first && rank.enqueued >= first ? first : *rank.waits_in;
    }
    const std::int64_t completed = std::max(rank.completed, std::int64_t{0});
    return rank.enqueued > rank.completed || completed >= first ? completed + 1 : completed;
  }

  /// A rank may wait where others have gone on: what it called there was something else, or its
  /// kernel hangs.
  void note_left_behind(int rank, std::int64_t waits_in, std::int64_t first, LoggedKind kind,
                        const std::string& group) {
    if (waits_in >= first) return;
    job_.note_once(fmt::format(
        "PyTorch's watchdog: rank {} waits in collective {} of '{}' ({}), which others have "
        "completed: it may have called another collective there than they did",
        rank, waits_in, group, to_string(kind)));
  }

  /// Its own, else what another rank calls there.
  static WatchedCall call_of(const Group& group, int rank, std::int64_t sequence) {
    const auto own = group.calls.find({rank, sequence});
    if (own != group.calls.end()) return own->second;
    for (const auto& [at, call] : group.calls) {
      if (at.second == sequence) return call;
    }
    return {};
  }

  const std::string& file_;
  JobLog& job_;
  std::map<std::string, Group> groups_;  // by id; empty: of lines that do not say it
  std::map<int, Timeout> unplaced_;      // by rank in the job
  std::optional<std::string> current_;   // the group that a report is of, where that is known
  int reporter_ = -1;                    // else the rank in the job that makes it; -1: not said
  std::map<int, std::map<int, WatchedRank>> reports_;  // by reporter: ranks of a group to come
  // By rank in the job: the number of the first send or receive that timed out.
  std::map<int, std::pair<std::int64_t, OpenTransfer>> transfers_;
  std::vector<int> not_at_barrier_;  // monitored
  bool restarted_ = false;
  bool was_reported_ = false;  // by torchrun, why it ended
  std::set<int> timed_out_;    // ranks of the job
  int earlier_attempts_ = 0;   // that wrote of a standstill
  TorchrunReport torchrun_{job_};
};

}  // namespace

void read_pytorch_watchdog(std::string_view text, const std::string& file, JobLog& job) {
  WatchdogReader reader(file, job);
  for_each_line(text, [&](std::string_view line) {
    if (line.find('\x1b') == line.npos) {
      reader.take(line);
    } else {
      reader.take(without_terminal_codes(line));
    }
  });
  reader.finish();
}

}  // namespace collbench

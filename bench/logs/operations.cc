#include "bench/logs/operations.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "core/quantile.h"

namespace collbench {
namespace {

auto operation_key(const LogRecord& record) {
  return std::tuple(record.communicator, record.kind, record.sequence);
}

/// Whether two records of one rank and collective are no second dump of the same.
bool are_of_several_runs(const LogRecord& a, const LogRecord& b) {
  if (a.process < 0 || b.process < 0) return false;
  const bool timed = a.duration_us > 0 && b.duration_us > 0;
  return a.bytes != b.bytes || (timed && a.duration_us != b.duration_us);
}

/// Of its ranks.
bool sizes_agree(std::span<const LogRecord> records) {
  return std::all_of(records.begin(), records.end(), [&](const LogRecord& record) {
    return record.bytes == records.front().bytes;
  });
}

void name_runs(const LogRecord& a, const LogRecord& b, JobLog& job) {
  const auto name = [&](const LogRecord& record) {
    return job.processes[static_cast<std::size_t>(record.process)].name;
  };
  const std::string both = a.process == b.process
                               ? name(a) + " is twice"
                               : fmt::format("{} and {} are both", name(a), name(b));
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(a.communicator)];
  // liballprof numbers the communicators of each process.
  const bool may_be_others = one.format == "liballprof" && one.name != "MPI_COMM_WORLD";
  job.mixed = fmt::format(
      "{} are here: {} rank {} of '{}', with other times or bytes in the same collective{}",
      may_be_others ? "logs of several communicators under one number, or of several runs,"
                    : "logs of several runs",
      both, a.rank, one.name.empty() ? one.id : one.name,
      may_be_others ? "" : "; name the logs of one run");
}

/// One such record of two processes is enough. Of one process it may be a reader's count that came
/// twice, unless a quarter of all collectives are.
void find_other_run(JobLog& job, const auto& same) {
  const std::vector<LogRecord>& records = job.records;
  std::size_t again = 0;
  std::size_t different = 0;
  std::size_t at = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (!same(records[i - 1], records[i])) continue;
    ++again;
    if (!are_of_several_runs(records[i - 1], records[i])) continue;
    if (different++ == 0) at = i;
    if (records[i - 1].process != records[i].process) {
      return name_runs(records[i - 1], records[i], job);
    }
  }
  if (different >= 3 && 4 * different >= records.size() - again) {
    name_runs(records[at - 1], records[at], job);
  }
}

/// The communicators of each process, whose records are sorted by them.
std::vector<std::vector<int>> communicators_of(const JobLog& job) {
  std::vector<std::vector<int>> used(job.processes.size());
  for (const LogRecord& record : job.records) {
    if (record.process < 0) continue;
    std::vector<int>& own = used[static_cast<std::size_t>(record.process)];
    if (own.empty() || own.back() != record.communicator) own.push_back(record.communicator);
  }
  return used;
}

/// Of which files of one run never have communicators of their own for the same rank.
bool has_a_file_a_rank(std::string_view format) {
  return format.starts_with("Flight Recorder") || format == "Kineto" || format == "MPI profile" ||
         format == "liballprof";
}
/// Of which a run has one file.
bool has_a_file_a_run(std::string_view format) {
  return format == "mpiP" || format == "Horovod timeline";
}

/// Runs of different sizes have communicators of their own, which would be taken for groups of one
/// job.
std::string runs_without_common_communicators(const JobLog& job) {
  const std::vector<std::vector<int>> used = communicators_of(job);
  std::map<std::pair<std::string_view, int>, std::size_t> process_of;  // by format and rank
  for (std::size_t p = 0; p < used.size(); ++p) {
    if (used[p].empty()) continue;
    const auto one = [&](std::size_t i) -> const JobCommunicator& {
      return job.communicators[static_cast<std::size_t>(used[p][i])];
    };
    const std::string_view format = one(0).format;
    if (has_a_file_a_run(format) && used[p].size() > 1) {
      return fmt::format("{} is one of {} ranks of {} and one of {} of {}", job.processes[p].name,
                         one(0).ranks, one(0).id, one(1).ranks, one(1).id);
    }
    const int rank = job.processes[p].rank;
    if (!has_a_file_a_rank(format) || rank < 0) continue;
    const auto [known, is_new] = process_of.try_emplace({format, rank}, p);
    const std::vector<int>& other = used[known->second];
    if (is_new || std::find_first_of(used[p].begin(), used[p].end(), other.begin(), other.end()) !=
                      used[p].end()) {
      continue;
    }
    return fmt::format("{} and {} are both rank {}, and have no communicator in common",
                       job.processes[known->second].name, job.processes[p].name, rank);
  }
  return {};
}

/// Keeps the first of several records of one rank.
void drop_repeated(JobLog& job) {
  const auto same = [](const LogRecord& a, const LogRecord& b) {
    return operation_key(a) == operation_key(b) && a.rank == b.rank;
  };
  std::vector<LogRecord>& records = job.records;
  find_other_run(job, same);
  if (const std::string both = runs_without_common_communicators(job); !both.empty()) {
    job.mixed = fmt::format("logs of several runs are here: {}; name the logs of one run", both);
  }
  const auto end = std::unique(records.begin(), records.end(), same);
  if (end == records.end()) return;
  job.left_out["records that repeat a sequence number of their rank"] += records.end() - end;
  records.erase(end, records.end());
}

JobOperation operation_of(std::span<const LogRecord> records, const std::vector<int>& heard) {
  JobOperation operation;
  operation.records = records;
  std::size_t timed = 0;
  for (const LogRecord& record : records) {
    if (!(record.duration_us > 0)) continue;
    timed += std::binary_search(heard.begin(), heard.end(), record.rank) ? 1 : 0;
    if (operation.last >= 0 && record.duration_us >= operation.transfer_us) continue;
    operation.transfer_us = record.duration_us;
    operation.last = record.rank;
  }
  operation.timed_by_all = timed == heard.size();
  return operation;
}

/// The last to arrive by a clock that all ranks share.
void compare_starts(const JobLog& job, JobOperation& operation) {
  const bool comparable =
      operation.timed_by_all &&
      std::all_of(operation.records.begin(), operation.records.end(), [&](const LogRecord& record) {
        return record.process >= 0 && !std::isnan(record.start_us) && record.duration_us > 0 &&
               !std::isnan(job.processes[static_cast<std::size_t>(record.process)].clock_error_us);
      });
  if (!comparable) return;
  const auto last = std::max_element(
      operation.records.begin(), operation.records.end(),
      [](const LogRecord& a, const LogRecord& b) { return a.start_us < b.start_us; });
  // Nobody waits longer than its own call took: else the clocks are not one.
  const auto error = [&](const LogRecord& record) {
    return job.processes[static_cast<std::size_t>(record.process)].clock_error_us;
  };
  const bool is_odd =
      waits_for_all(last->kind) &&
      std::any_of(operation.records.begin(), operation.records.end(), [&](const LogRecord& record) {
        const double waits = last->start_us - record.start_us;
        return waits > record.duration_us + error(record) + error(*last);
      });
  if (is_odd) return;
  operation.last = last->rank;
  operation.transfer_us = last->duration_us;
  operation.last_start_us = last->start_us;
  operation.last_own_us = last->own_us;
}

/// Where some operations of a communicator are timed by all ranks, only those have a transfer: the
/// least duration of a few ranks holds waiting.
void keep_comparable(const JobLog& job, std::vector<JobOperation>& operations) {
  std::vector<bool> has_complete(job.communicators.size(), false);
  const auto communicator = [](const JobOperation& operation) {
    return static_cast<std::size_t>(operation.any().communicator);
  };
  for (const JobOperation& operation : operations) {
    if (operation.timed_by_all) has_complete[communicator(operation)] = true;
  }
  for (JobOperation& operation : operations) {
    if (operation.timed_by_all || !has_complete[communicator(operation)]) continue;
    operation.transfer_us = unknown_time;
    operation.last = -1;
  }
}

}  // namespace

bool have_equal_parts(std::span<const LogRecord> records) {
  return sizes_agree(records) &&
         std::none_of(records.begin(), records.end(),
                      [](const LogRecord& record) { return record.parts_differ; });
}

bool is_several(const JobCommunicator& communicator, const std::vector<int>& heard) {
  return communicator.ranks > 0 && static_cast<int>(heard.size()) > communicator.ranks;
}

std::vector<JobOperation> operations_of(JobLog& job) {
  std::stable_sort(job.records.begin(), job.records.end(),
                   [](const LogRecord& a, const LogRecord& b) {
                     return std::tuple_cat(operation_key(a), std::tuple(a.rank)) <
                            std::tuple_cat(operation_key(b), std::tuple(b.rank));
                   });
  drop_repeated(job);
  const JobRanks ranks(job);
  std::vector<JobOperation> operations;
  const std::span<const LogRecord> all = job.records;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && operation_key(all[end]) == operation_key(all[begin])) ++end;
    const auto records = all.subspan(begin, end - begin);
    begin = end;
    if (!sizes_agree(records) && has_bus_rate(records.front().kind)) {
      ++job.left_out["operations whose ranks disagree about the size"];
      continue;
    }
    const int c = records.front().communicator;
    JobOperation operation{records};
    if (!is_several(job.communicators[static_cast<std::size_t>(c)], ranks.heard(c))) {
      operation = operation_of(records, ranks.heard(c));
    }
    operations.push_back(operation);
  }
  keep_comparable(job, operations);
  for (JobOperation& operation : operations) compare_starts(job, operation);
  return operations;
}

namespace {

/// The ranks with at least half as many records as the middle one: another's log was cut or lost.
std::vector<int> ranks_with_logs(const std::map<int, std::int64_t>& counts) {
  std::vector<double> sorted;
  for (const auto& [rank, count] : counts) sorted.push_back(static_cast<double>(count));
  const double middle = sorted.empty() ? 0 : quantile(std::move(sorted), 0.5);
  std::vector<int> ranks;
  for (const auto& [rank, count] : counts) {
    if (2 * static_cast<double>(count) >= middle) ranks.push_back(rank);
  }
  return ranks;
}

/// Whether a communicator has the processes of another in the same places, but for a minority: so
/// it follows a restart of some.
bool is_made_again(const std::map<int, int>& first, const std::map<int, int>& second) {
  std::size_t same = 0;
  for (const auto& [rank, process] : first) {
    const auto other = second.find(rank);
    same += other != second.end() && other->second == process && process >= 0 ? 1 : 0;
  }
  return first.size() == second.size() && 2 * same > first.size();
}

}  // namespace

JobRanks::JobRanks(const JobLog& job)
    : job_(&job),
      by_process_(job.processes.size(), -1),
      heard_(job.communicators.size()),
      process_of_(job.communicators.size()) {
  std::vector<std::map<int, std::int64_t>> counts(job.communicators.size());
  for (const LogRecord& record : job.records) {
    const auto c = static_cast<std::size_t>(record.communicator);
    process_of_[c].try_emplace(record.rank, record.process);
    ++counts[c][record.rank];
  }
  for (std::size_t c = 0; c < job.communicators.size(); ++c) {
    heard_[c] = ranks_with_logs(counts[c]);
    const JobCommunicator& one = job.communicators[c];
    count_ = std::max(count_, one.ranks);
    for (const int member : one.members) count_ = std::max(count_, member + 1);
  }
  for (std::size_t p = 0; p < job.processes.size(); ++p) {
    by_process_[p] = job.processes[p].rank;
    count_ = std::max(count_, job.processes[p].rank + 1);
  }
  take_ranks_of_worlds();
  count_others();
  for (std::size_t c = 0; c < process_of_.size(); ++c) {
    for (const auto& [rank, process] : process_of_[c]) {
      if (process >= 0) process_of_rank_.try_emplace(in_job(static_cast<int>(c), rank), process);
    }
  }
}

/// Of each format, which names processes in its own way, the communicator with most logs is that of
/// all processes if it has a rank for each of them, with those of its size that were made again
/// when a process was restarted.
void JobRanks::take_ranks_of_worlds() {
  struct World {
    std::set<int> processes;  // of all communicators of the format
    std::size_t communicator = 0;
  };
  std::map<std::string_view, World> worlds;
  for (std::size_t c = 0; c < process_of_.size(); ++c) {
    World& world = worlds.try_emplace(job_->communicators[c].format, World{{}, c}).first->second;
    if (heard_[c].size() > heard_[world.communicator].size()) world.communicator = c;
    for (const auto& [rank, process] : process_of_[c]) world.processes.insert(process);
  }
  for (auto& [format, world] : worlds) {
    world.processes.erase(-1);
    const std::map<int, int>& members = process_of_[world.communicator];
    const auto seats = std::max<std::size_t>(
        members.size(), static_cast<std::size_t>(job_->communicators[world.communicator].ranks));
    std::map<int, int> rank_of;  // by process
    for (std::size_t c = 0; c < process_of_.size(); ++c) {
      const bool counts = c == world.communicator || (job_->communicators[c].format == format &&
                                                      seats < world.processes.size() &&
                                                      is_made_again(members, process_of_[c]));
      if (!counts) continue;
      for (const auto& [rank, process] : process_of_[c]) rank_of.try_emplace(process, rank);
    }
    rank_of.erase(-1);
    if (std::max(seats, rank_of.size()) < world.processes.size()) continue;
    for (const auto& [process, rank] : rank_of) {
      int& known = by_process_[static_cast<std::size_t>(process)];
      if (known < 0) known = rank;
      count_ = std::max(count_, rank + 1);
    }
  }
}

/// The rank in a communicator would make one of different processes, and several of one.
void JobRanks::count_others() {
  std::set<int> unknown;
  std::set<int> driving_several;
  for (const std::map<int, int>& members : process_of_) {
    std::set<int> here;
    for (const auto& [rank, process] : members) {
      if (process < 0) continue;
      if (!here.insert(process).second) driving_several.insert(process);
      if (by_process_[static_cast<std::size_t>(process)] < 0) unknown.insert(process);
    }
  }
  for (const int process : driving_several) by_process_[static_cast<std::size_t>(process)] = -1;
  std::set<int> taken(by_process_.begin(), by_process_.end());
  int number = 0;
  for (const int process : unknown) {
    if (driving_several.contains(process)) continue;
    while (!taken.insert(number).second) ++number;
    by_process_[static_cast<std::size_t>(process)] = number;
    counted_[number] = job_->processes[static_cast<std::size_t>(process)].name;
    count_ = std::max(count_, number + 1);
  }
}

int JobRanks::in_job(int communicator, int rank) const {
  const auto c = static_cast<std::size_t>(communicator);
  const auto r = static_cast<std::size_t>(rank);
  const std::vector<int>& members = job_->communicators[c].members;
  if (r < members.size()) return members[r];
  const auto process = process_of_[c].find(rank);
  if (process == process_of_[c].end() || process->second < 0) return rank;
  const int known = by_process_[static_cast<std::size_t>(process->second)];
  return known >= 0 ? known : rank;
}

int JobRanks::in_job(const LogRecord& record) const {
  return in_job(record.communicator, record.rank);
}

std::string JobRanks::name(int rank_in_job) const {
  const auto process = process_of_rank_.find(rank_in_job);
  if (process == process_of_rank_.end()) return fmt::format("rank {}", rank_in_job);
  return fmt::format("rank {} ({})", rank_in_job,
                     job_->processes[static_cast<std::size_t>(process->second)].name);
}

std::string JobRanks::host_of(const std::vector<int>& ranks_in_job) const {
  std::map<std::string, std::vector<int>> by_host;
  for (const auto& [rank, process] : process_of_rank_) {
    by_host[job_->processes[static_cast<std::size_t>(process)].host].push_back(rank);
  }
  for (const auto& [host, ranks] : by_host) {
    if (ranks == ranks_in_job) return host;
  }
  return {};
}

}  // namespace collbench

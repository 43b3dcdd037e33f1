#include "bench/logs/job_log.h"

#include <algorithm>
#include <array>

#include "bench/foreign/foreign_readers.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 9> kind_names = {
    "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce",
    "all-to-all", "barrier",    "point-to-point", "other"};

}  // namespace

std::string_view to_string(LoggedKind kind) {
  return kind_names.at(static_cast<std::size_t>(kind));
}

LoggedKind logged_kind(std::string_view name) {
  const std::string letters = letters_of(name);
  const auto has = [&](std::string_view part) { return letters.find(part) != letters.npos; };
  // The barrier of PyTorch is an all-reduce by name, and a reduce-scatter is no reduce.
  if (has("barrier")) return LoggedKind::barrier;
  if (has("reducescatter")) return LoggedKind::reduce_scatter;
  if (has("allreduce")) return LoggedKind::all_reduce;
  if (has("allgather")) return LoggedKind::all_gather;
  if (has("alltoall")) return LoggedKind::all_to_all;
  if (has("broadcast") || has("bcast")) return LoggedKind::broadcast;
  if (has("reduce")) return LoggedKind::reduce;
  if (has("send") || has("recv")) return LoggedKind::point_to_point;
  return LoggedKind::other;
}

bool waits_for_all(LoggedKind kind) {
  return has_bus_rate(kind) || kind == LoggedKind::barrier || kind == LoggedKind::all_to_all;
}

bool has_bus_rate(LoggedKind kind) {
  return kind == LoggedKind::all_reduce || kind == LoggedKind::all_gather ||
         kind == LoggedKind::reduce_scatter;
}

double bus_factor(LoggedKind kind, int ranks) {
  const double n = ranks;
  if (kind == LoggedKind::all_reduce) return 2 * (n - 1) / n;
  if (kind == LoggedKind::all_gather || kind == LoggedKind::reduce_scatter) return n - 1;
  return 1;
}

int JobLog::communicator(const std::string& id, const std::string& name, int ranks) {
  const auto [found, is_new] =
      communicators_by_id_.try_emplace({id, ranks}, static_cast<int>(communicators.size()));
  if (is_new) {
    JobCommunicator& made = communicators.emplace_back();
    made.id = printable(id);
    made.name = printable(name);
    made.ranks = ranks;
  }
  return found->second;
}

int JobLog::process(const std::string& name, const std::string& host) {
  const auto [found, is_new] =
      processes_by_name_.try_emplace(name, static_cast<int>(processes.size()));
  if (is_new) processes.push_back({.name = printable(name), .host = printable(host)});
  return found->second;
}

int JobLog::counted_rank(int communicator, int process) {
  std::map<int, int>& ranks = counted_ranks_[communicator];
  return ranks.try_emplace(process, static_cast<int>(ranks.size())).first->second;
}

void JobLog::join(int communicator, int into) {
  const std::vector<int> members = communicators[static_cast<std::size_t>(into)].members;
  const auto moved = [&](int one) { return one > communicator ? one - 1 : one; };
  for (LogRecord& record : records) {
    if (record.communicator == communicator) {
      const int rank = processes[static_cast<std::size_t>(record.process)].rank;
      const auto at = std::find(members.begin(), members.end(), rank);
      record.rank = static_cast<int>(at - members.begin());
      record.communicator = into;
    }
    record.communicator = moved(record.communicator);
  }
  communicators.erase(communicators.begin() + communicator);
  std::erase_if(communicators_by_id_, [&](const auto& one) { return one.second == communicator; });
  for (auto& [id, index] : communicators_by_id_) index = moved(index);
}

std::uint8_t JobLog::word(std::string_view text) {
  const std::string lower = lower_case(printable(text));
  const auto found = std::find(words.begin(), words.end(), lower);
  if (found != words.end()) return static_cast<std::uint8_t>(found - words.begin());
  if (words.size() > 255) return 0;
  words.push_back(lower);
  return static_cast<std::uint8_t>(words.size() - 1);
}

void JobLog::note_once(const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

}  // namespace collbench

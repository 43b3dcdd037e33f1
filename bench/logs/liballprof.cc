// liballprof's text, a line per MPI call: NAME:start:send:recv:count:type,size,extent:op:comm,rank,
// size:end, in microseconds of the process's clock. The k-th call of a communicator on one rank
// meets the k-th on the others.
#include <map>

#include "bench/logs/log_readers.h"
#include "core/parse.h"

namespace collbench {
namespace {

struct ProfiledCall {
  double start = 0, end = 0;
  std::int64_t count = 0;
  std::int64_t element = 0;
  std::string communicator;
  int rank = 0, ranks = 0;
};

std::optional<ProfiledCall> profiled_call(const std::vector<std::string>& parts) {
  if (parts.size() != 9) return std::nullopt;
  const std::vector<std::string> type = split_at(parts[5], ',');
  const std::vector<std::string> group = split_at(parts[7], ',');
  if (type.size() < 2 || group.size() != 3) return std::nullopt;
  const auto start = number_in(parts[1]);
  const auto end = number_in(parts[8]);
  const auto count = integer_in(parts[4], 0, std::int64_t{1} << 40);
  const auto element = integer_in(type[1], 0, 1 << 20);
  const auto rank = small_integer_in(group[1], 0, 1 << 20);
  const auto ranks = small_integer_in(group[2], 1, 1 << 20);
  if (!start || !end || !count || !element || !rank || !ranks || *rank >= *ranks) {
    return std::nullopt;
  }
  return ProfiledCall{*start, *end, *count, *element, group[0], *rank, *ranks};
}

}  // namespace

void read_liballprof(std::string_view text, const std::string& file, JobLog& job) {
  job.of_processors = true;
  std::string host;
  std::map<int, std::int64_t> sequence;
  for (const std::string& line : split_at(text, '\n')) {
    if (line.starts_with("# host:")) host = std::string(trimmed(std::string_view(line).substr(7)));
    if (!line.starts_with("MPI_")) continue;
    const std::vector<std::string> parts = split_at(trimmed(line), ':');
    const LoggedKind kind = logged_kind(parts.front());
    if (kind != LoggedKind::all_reduce) {
      ++job.left_out["liballprof calls that are not all-reduces"];
      continue;
    }
    const auto call = profiled_call(parts);
    if (!call || !(call->end > call->start)) {
      ++job.left_out["all-reduces of liballprof that are cut short or without times"];
      continue;
    }
    LogRecord& record = job.records.emplace_back();
    record.communicator =
        job.communicator("communicator " + call->communicator,
                         call->communicator == "0" ? "MPI_COMM_WORLD" : "", call->ranks);
    record.rank = call->rank;
    record.process = job.process(file, host);
    if (call->communicator == "0") {
      job.processes[static_cast<std::size_t>(record.process)].rank = call->rank;
    }
    record.kind = kind;
    record.sequence = sequence[record.communicator]++;
    record.bytes = call->count * call->element;
    record.start_us = call->start;
    record.duration_us = call->end - call->start;
  }
}

}  // namespace collbench

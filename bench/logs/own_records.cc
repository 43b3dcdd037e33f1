// Our own records as a log: the iterations of `collbench run --rank-times`, whose barriers in front
// of each make every rank begin by itself.
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"
#include "bench/records/record_json.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

/// Shares are counted by the part of one rank, as NCCL's logs are.
LoggedKind logged_kind_of(CollectiveKind kind) {
  constexpr std::array<LoggedKind, 5> kinds = {LoggedKind::all_reduce, LoggedKind::reduce_scatter,
                                               LoggedKind::all_gather, LoggedKind::broadcast,
                                               LoggedKind::reduce};
  return kinds.at(static_cast<std::size_t>(kind));
}

/// The communicator and the rank in it of each worker.
std::vector<std::pair<int, int>> places_of(const Case& point, const std::string& id,
                                           const std::string& name, int number, int nodes,
                                           JobLog& job) {
  Groups groups = parse_groups(point.groups, point.workers);
  if (groups.empty()) groups.emplace_back();
  std::vector<std::pair<int, int>> places(static_cast<std::size_t>(point.workers));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<Rank>& group = groups[g];
    if (group.empty()) {
      for (int rank = 0; rank < point.workers; ++rank) group.push_back(rank);
    }
    const bool is_part = groups.size() > 1;
    const int communicator = job.communicator(is_part ? fmt::format("{} group {}", id, g) : id,
                                              name, static_cast<int>(group.size()));
    JobCommunicator& made = job.communicators[static_cast<std::size_t>(communicator)];
    made.id =
        is_part ? fmt::format("record {}, group {}", number, g) : fmt::format("record {}", number);
    if (nodes == 1 || !is_part) made.nodes = nodes;
    if (is_part) made.members.assign(group.begin(), group.end());
    for (std::size_t i = 0; i < group.size(); ++i) {
      places.at(static_cast<std::size_t>(group[i])) = {communicator, static_cast<int>(i)};
    }
  }
  return places;
}

void take_record(const Record& record, int number, int nodes, const std::string& file,
                 JobLog& job) {
  const Case& point = record.point;
  const auto ranks = static_cast<std::size_t>(point.workers);
  const std::vector<std::int64_t>& times = record.measurement.rank_time_ns;
  const std::string& algorithm =
      record.algorithm_chosen.empty() ? point.algorithm : record.algorithm_chosen;
  const auto places = places_of(point, fmt::format("{} record {}", file, number),
                                algorithm + "@" + point.backend, number, nodes, job);
  const LoggedKind kind = logged_kind_of(point.collective);
  const int parts =
      kind == LoggedKind::all_gather || kind == LoggedKind::reduce_scatter ? group_size(point) : 1;
  for (std::size_t i = 0; i < times.size(); ++i) {
    LogRecord& one = job.records.emplace_back();
    const auto worker = i % ranks;
    std::tie(one.communicator, one.rank) = places[worker];
    one.process = job.process(fmt::format("{} rank {}", point.backend, worker));
    job.processes[static_cast<std::size_t>(one.process)].rank = static_cast<int>(worker);
    one.kind = kind;
    one.sequence = static_cast<std::int64_t>(i / ranks);
    one.bytes = point.bytes.count / parts;
    one.duration_us = static_cast<double>(times[i]) * 1e-3;
    one.algorithm = job.word(algorithm);
  }
}

}  // namespace

void read_own_records(std::string_view text, const std::string& file, JobLog& job) {
  const RecordFile records = records_from_json(std::string(text));
  // Ranks of a run are on one host unless it was spread over several.
  const int nodes =
      small_integer_in(value_of(records.environment, "nodes", "1"), 1, 1 << 20).value_or(1);
  int number = 0;
  int taken = 0;
  for (const Record& record : records.records) {
    ++number;
    if (record.measurement.rank_time_ns.empty()) continue;
    take_record(record, number, nodes, file, job);
    ++taken;
  }
  require(taken > 0, file +
                         ": records of collbench without the times of each rank; measure with "
                         "--rank-times");
  job.of_processors = true;
}

}  // namespace collbench

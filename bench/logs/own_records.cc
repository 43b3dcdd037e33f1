// Our own records as a log: the iterations of `collbench run --rank-times`, whose barriers in front
// of each make every rank begin by itself.
#include <fmt/format.h>

#include "bench/logs/log_readers.h"
#include "bench/records/record_json.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

void take_record(const Record& record, int number, int nodes, const std::string& file,
                 JobLog& job) {
  const Case& point = record.point;
  const auto ranks = static_cast<std::size_t>(point.workers);
  const std::vector<std::int64_t>& times = record.measurement.rank_time_ns;
  const std::string& algorithm =
      record.algorithm_chosen.empty() ? point.algorithm : record.algorithm_chosen;
  const int communicator = job.communicator(fmt::format("{} record {}", file, number),
                                            algorithm + "@" + point.backend, point.workers);
  JobCommunicator& made = job.communicators[static_cast<std::size_t>(communicator)];
  made.id = fmt::format("record {}", number);
  made.nodes = nodes;
  for (std::size_t i = 0; i < times.size(); ++i) {
    LogRecord& one = job.records.emplace_back();
    one.communicator = communicator;
    one.rank = static_cast<int>(i % ranks);
    one.process = job.process(fmt::format("{} rank {}", point.backend, one.rank));
    job.processes[static_cast<std::size_t>(one.process)].rank = one.rank;
    one.kind = LoggedKind::all_reduce;
    one.sequence = static_cast<std::int64_t>(i / ranks);
    one.bytes = point.bytes.count;
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

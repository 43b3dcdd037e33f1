// A job's records in the formats of other tools, a file per rank: what one tool wrote can be read
// by another, and verdicts can be tried on jobs with a known truth.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/job_report.h"
#include "bench/logs/operations.h"
#include "core/json.h"
#include "core/output_file.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

/// The names of kinds in either tool, in their order.
constexpr std::array<std::string_view, 9> inspector_kinds = {
    "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",
    "AllToAll",  "AllReduce", "Send",          "Other"};
constexpr std::array<std::string_view, 9> recorder_kinds = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "all_to_all", "barrier",    "send",           "other"};

/// The records of each rank of the job.
std::map<int, std::vector<const LogRecord*>> records_by_rank(const JobLog& job,
                                                             const JobRanks& ranks) {
  std::map<int, std::vector<const LogRecord*>> found;
  for (const LogRecord& record : job.records) found[ranks.in_job(record)].push_back(&record);
  return found;
}

std::string inspector_line(const JobLog& job, const LogRecord& record, const std::string& host,
                           int rank_in_job) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(record.communicator)];
  Json performance = {{"coll", inspector_kinds[static_cast<std::size_t>(record.kind)]}};
  if (record.algorithm != 0) performance["coll_algo"] = job.words[record.algorithm];
  if (record.protocol != 0) performance["coll_proto"] = job.words[record.protocol];
  const double rate = static_cast<double>(record.bytes) / record.duration_us * 1e-3;
  performance["coll_sn"] = record.sequence;
  performance["coll_msg_size_bytes"] = record.bytes;
  performance["coll_exec_time_us"] = static_cast<std::int64_t>(record.duration_us);
  performance["coll_timing_source"] = "kernel_gpu";
  performance["coll_algobw_gbs"] = rate;
  performance["coll_busbw_gbs"] = rate * bus_factor(record.kind, std::max(one.ranks, 1));
  const Json line = {{"header",
                      {{"id", one.id},
                       {"comm_name", one.name},
                       {"rank", record.rank},
                       {"n_ranks", one.ranks},
                       {"nnodes", std::max(one.nodes, 1)}}},
                     {"metadata",
                      {{"inspector_output_format_version", "v4.0"},
                       {"git_rev", ""},
                       {"rec_mechanism", "collbench"},
                       {"dump_timestamp_us", 0},
                       {"hostname", host},
                       {"pid", rank_in_job}}},
                     {"coll_perf", std::move(performance)}};
  return json_text(line) + '\n';
}

Json recorder_entry(const JobLog& job, const LogRecord& record, std::size_t number) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(record.communicator)];
  const Json sizes = Json::array({Json::array({record.bytes / 4})});
  Json entry = {{"record_id", number},
                {"pg_id", record.communicator},
                {"process_group", Json::array({std::to_string(record.communicator), one.name})},
                {"collective_seq_id", record.sequence},
                {"p2p_seq_id", 0},
                {"op_id", number},
                {"profiling_name",
                 fmt::format("nccl:{}", recorder_kinds[static_cast<std::size_t>(record.kind)])},
                {"input_sizes", sizes},
                {"input_dtypes", Json::array({"Float"})},
                {"output_sizes", sizes},
                {"output_dtypes", Json::array({"Float"})},
                {"is_p2p", false},
                {"state", record.state == RecordState::completed ? "completed"
                          : record.state == RecordState::started ? "started"
                                                                 : "scheduled"},
                {"retired", record.state == RecordState::completed}};
  if (record.duration_us > 0) entry["duration_ms"] = record.duration_us * 1e-3;
  return entry;
}

/// Members of communicators as ranks of the job.
Json recorder_groups(const JobLog& job, const JobRanks& ranks) {
  Json groups = Json::object();
  for (std::size_t c = 0; c < job.communicators.size(); ++c) {
    std::vector<int> members;
    for (int rank = 0; rank < job.communicators[c].ranks; ++rank) {
      members.push_back(ranks.in_job(static_cast<int>(c), rank));
    }
    groups[std::to_string(c)] = {{"name", std::to_string(c)},
                                 {"desc", job.communicators[c].name},
                                 {"ranks", fmt::format("[{}]", fmt::join(members, ", "))}};
  }
  return groups;
}

}  // namespace

void write_inspector_files(const JobLog& job, const std::string& folder) {
  make_folder(folder);
  const JobRanks ranks(job);
  for (const auto& [rank, records] : records_by_rank(job, ranks)) {
    const int process = records.front()->process;
    std::string host = process >= 0 ? job.processes[static_cast<std::size_t>(process)].host : "";
    if (host.empty()) host = "host";
    OutputFile file(fmt::format("{}/rank{}.log", folder, rank));
    for (const LogRecord* record : records) {
      if (record->duration_us >= 1) file.stream() << inspector_line(job, *record, host, rank);
    }
    file.commit();
  }
}

void write_flight_recorder_files(const JobLog& job, const std::string& folder) {
  make_folder(folder);
  const JobRanks ranks(job);
  const Json groups = recorder_groups(job, ranks);
  for (const auto& [rank, records] : records_by_rank(job, ranks)) {
    Json entries = Json::array();
    for (const LogRecord* record : records) {
      entries.push_back(recorder_entry(job, *record, entries.size()));
    }
    const Json dump = {{"version", "2.10"}, {"pg_config", groups}, {"entries", entries}};
    write_file(fmt::format("{}/fr_rank_{}.json", folder, rank), json_text(dump) + '\n');
  }
}

}  // namespace collbench

// PyTorch's Flight Recorder: the last collectives that a process has issued, as JSON or a pickle.
//
// `duration_ms` is that of the kernel and holds the waiting; time_created_ns is the enqueue on the
// host, and time_discovered_* when a watchdog looked: neither is a start, so records have none.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "bench/logs/pickle.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

std::int64_t tensor_bytes(const json& entry, const char* sizes_key, const char* types_key) {
  const auto sizes = entry.find(sizes_key);
  const auto types = entry.find(types_key);
  if (sizes == entry.end() || !sizes->is_array()) return 0;
  double bytes = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    double elements = 1;
    for (const json& extent : (*sizes)[i])
      elements *= extent.is_number() ? extent.get<double>() : 0;
    int element = 0;
    if (types != entry.end() && types->is_array() && i < types->size() && (*types)[i].is_string()) {
      element = element_bytes_of((*types)[i].get<std::string>());
    }
    bytes += elements * element;
  }
  return bytes >= 0 && bytes < 1e15 ? static_cast<std::int64_t>(bytes) : 0;
}

/// The part of one rank where a collective gathers or scatters.
std::int64_t entry_bytes(const json& entry, LoggedKind kind) {
  const std::int64_t in = tensor_bytes(entry, "input_sizes", "input_dtypes");
  const std::int64_t out = tensor_bytes(entry, "output_sizes", "output_dtypes");
  const bool gathers = kind == LoggedKind::all_gather || kind == LoggedKind::reduce_scatter;
  return gathers && out > 0 ? std::min(in, out) : in;
}

RecordState state_of(const std::string& state) {
  if (state == "completed") return RecordState::completed;
  return state == "started" ? RecordState::started : RecordState::scheduled;
}

class FlightReader {
 public:
  FlightReader(const json& dump, const std::string& file, bool is_cut, JobLog& job)
      : dump_(dump), job_(job), rank_(rank_of_file(file, job)) {
    process_ = job.process(file);
    job.processes[static_cast<std::size_t>(process_)].rank = rank_;
    job.processes[static_cast<std::size_t>(process_)].is_cut = is_cut;
    const std::string version = text_at(dump, "version");
    is_first_version_ = version.starts_with("1.");
    if (!version.empty() && !version.starts_with("2.") && !is_first_version_) {
      job.note_once("Flight Recorder's version " + version +
                    " is not known (known are 1 and 2): its keys are used as far as they are the "
                    "same");
    }
  }

  void read() {
    const auto entries = dump_.find("entries");
    if (entries == dump_.end() || !entries->is_array()) return;
    for (const json& entry : *entries) take(entry);
    take_status();
    forget_earlier_groups();
  }

 private:
  void take(const json& entry) {
    const auto is_p2p = entry.is_object() ? entry.find("is_p2p") : entry.end();
    if (is_p2p != entry.end() && is_p2p->is_boolean() && is_p2p->get<bool>()) {
      ++job_.left_out["point-to-point entries of Flight Recorder"];
      job_.has_sends = true;
      take_transfer(entry);
      return;
    }
    LogRecord record;
    record.kind = logged_kind(text_at(entry, "profiling_name"));
    record.sequence = integer_at(entry, is_first_version_ ? "seq_id" : "collective_seq_id");
    record.process = process_;
    record.state = state_of(text_at(entry, "state"));
    if (record.sequence < 0) {
      ++job_.left_out["Flight Recorder entries without a sequence number"];
      return;
    }
    // Version 1 numbers a rank's groups in the order in which that rank made them.
    if (is_first_version_ && integer_at(entry, "pg_id", 0) > 0) {
      ++job_.left_out["Flight Recorder entries of version 1 in groups whose ranks it does not say"];
      return;
    }
    if (!find_group(entry, record)) {
      ++job_.left_out["Flight Recorder entries of a group that the rank of the file is not in"];
      return;
    }
    record.bytes = entry_bytes(entry, record.kind);
    const auto types = entry.find("input_dtypes");
    if (types != entry.end() && types->is_array() && !types->empty() && (*types)[0].is_string()) {
      record.elements = job_.word((*types)[0].get<std::string>());
    }
    const double ms = number_at(entry, "duration_ms");
    if (ms > 0 && std::isfinite(ms)) record.duration_us = 1000 * ms;
    add(record);
    numbers_[record.communicator].group = integer_at(entry, "pg_id");
  }

  /// "nccl:recv 1<-0", "nccl:send 0->1", of ranks of the group.
  void take_transfer(const json& entry) {
    const RecordState state = state_of(text_at(entry, "state"));
    const std::string name = text_at(entry, "profiling_name");
    LogRecord ends;  // only finds the group
    if (state == RecordState::completed || !find_group(entry, ends)) return;
    const std::vector<int>& members =
        job_.communicators[static_cast<std::size_t>(ends.communicator)].members;
    const std::vector<int> named = ranks_in_text(name);
    int peer = named.size() == 2 ? named[1] : -1;
    if (peer >= 0 && !members.empty()) {
      const auto at = static_cast<std::size_t>(peer);
      peer = at < members.size() ? members[at] : -1;
    }
    job_.open_transfers.push_back({rank_, peer, name.find("send") != name.npos, state});
  }

  /// Coalesced collectives follow each other with one number: one operation with the bytes of all.
  /// Numbers that come again later are those of a group that was made anew under its old name;
  /// there, what was before says nothing of the records of others.
  void add(const LogRecord& record) {
    Numbers& numbers = numbers_[record.communicator];
    const auto known = numbers.of.find(record.sequence);
    if (known != numbers.of.end() && numbers.latest != record.sequence) {
      for (const auto& [sequence, places] : numbers.of) {
        for (const std::size_t at : places) job_.records[at].communicator = -1;
        left_behind_ += static_cast<std::int64_t>(places.size());
      }
      numbers.of.clear();
    }
    numbers.latest = record.sequence;
    std::vector<std::size_t>& places = numbers.of[record.sequence];
    for (const std::size_t at : places) {
      LogRecord& first = job_.records[at];
      if (first.kind != record.kind) continue;
      first.bytes += record.bytes;
      if (!(first.duration_us >= record.duration_us)) first.duration_us = record.duration_us;
      return;
    }
    places.push_back(job_.records.size());
    job_.records.push_back(record);
  }

  /// How far this rank has come in its groups, which a dump of what has not ended says here alone.
  /// Of a group that sends and receives as well, the numbers may be those of its transfers: then
  /// the last one is not that of its last collective.
  void take_status() {
    const auto status = dump_.find("pg_status");
    if (status == dump_.end() || !status->is_object()) return;
    for (const auto& [communicator, numbers] : numbers_) {
      const auto own = status->find(std::to_string(numbers.group));
      if (own == status->end() || numbers.of.empty()) continue;
      if (integer_at(*own, "last_enqueued_collective") != numbers.of.rbegin()->first) continue;
      std::int64_t& through =
          job_.communicators[static_cast<std::size_t>(communicator)].completed_through;
      through = std::max(through, integer_at(*own, "last_completed_collective"));
    }
  }

  void forget_earlier_groups() {
    if (left_behind_ == 0) return;
    std::erase_if(job_.records, [](const LogRecord& record) { return record.communicator < 0; });
    job_.left_out["Flight Recorder entries of a group before it was made anew under its name"] +=
        left_behind_;
  }

  bool find_group(const json& entry, LogRecord& record) {
    const auto group = entry.find("process_group");
    std::string name = "default";
    std::string description;
    if (group != entry.end() && group->is_array() && !group->empty() && (*group)[0].is_string()) {
      name = (*group)[0].get<std::string>();
      if (group->size() > 1 && (*group)[1].is_string()) {
        description = (*group)[1].get<std::string>();
      }
    }
    const std::vector<int>& members = members_of(name);
    // Groups of one name and other members are others.
    const std::string id = fmt::format("{} {}", name, fmt::join(members, ","));
    record.communicator = job_.communicator(id, name, static_cast<int>(members.size()));
    JobCommunicator& made = job_.communicators[static_cast<std::size_t>(record.communicator)];
    if (made.members.empty()) {
      made.members = members;
      made.id = "group " + printable(name);
      made.may_go_on = true;  // dumps may be asked for while the job runs
      if (!description.empty()) made.name = printable(description);
    }
    const auto at = std::find(members.begin(), members.end(), rank_);
    record.rank = members.empty() ? rank_ : static_cast<int>(at - members.begin());
    return members.empty() || at != members.end();
  }

  const std::vector<int>& members_of(const std::string& name) {
    const auto [found, is_new] = members_.try_emplace(name);
    if (!is_new) return found->second;
    const auto config = dump_.find("pg_config");
    if (config == dump_.end() || !config->is_object() || !config->contains(name)) {
      return found->second;
    }
    const json& group = config->at(name);
    found->second = ranks_in_text(text_at(group, "ranks"));
    if (group.is_object() && group.contains("ranks") && group["ranks"].is_array()) {
      found->second = ranks_in_text(json_text(group["ranks"]));
    }
    std::sort(found->second.begin(), found->second.end());
    return found->second;
  }

  const json& dump_;
  JobLog& job_;
  int rank_;
  int process_ = -1;
  bool is_first_version_ = false;  // of PyTorch before 2.4
  std::map<std::string, std::vector<int>> members_;
  struct Numbers {
    std::map<std::int64_t, std::vector<std::size_t>> of;  // places in the records, by sequence
    std::int64_t latest = -1;
    std::int64_t group = -1;  // pg_id: the rank's own number of it
  };
  std::map<int, Numbers> numbers_;  // by communicator
  std::int64_t left_behind_ = 0;
};

}  // namespace

void read_flight_recorder_json(std::string_view text, const std::string& file, JobLog& job) {
  bool cut = false;
  const json dump = log_json(text, file, job, &cut);
  FlightReader(dump, file, cut, job).read();
}

void read_flight_recorder_pickle(std::string_view text, const std::string& file, JobLog& job) {
  bool cut = false;
  json dump = read_pickle(text, file, cut);
  if (cut) ++job.left_out["ends of pickles that were cut short"];
  require(dump.is_object() && dump.contains("entries"),
          file + ": a pickle, but not one of Flight Recorder: it has no 'entries'");
  json& entries = dump["entries"];
  // The last one may be half an entry.
  if (cut && entries.is_array() && !entries.empty()) entries.erase(entries.size() - 1);
  FlightReader(dump, file, cut, job).read();
}

void join_groups_of_cut_dumps(JobLog& job) {
  for (int c = static_cast<int>(job.communicators.size()) - 1; c >= 0; --c) {
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(c)];
    if (!one.members.empty() || !one.format.starts_with("Flight Recorder")) continue;
    std::set<int> ranks;
    for (const LogRecord& record : job.records) {
      if (record.communicator == c) ranks.insert(record.rank);
    }
    std::vector<int> whole;  // groups of that name which have all these ranks
    for (std::size_t other = 0; other < job.communicators.size(); ++other) {
      const JobCommunicator& group = job.communicators[other];
      const bool has_all =
          std::includes(group.members.begin(), group.members.end(), ranks.begin(), ranks.end());
      if (group.id == one.id && has_all && !group.members.empty()) {
        whole.push_back(static_cast<int>(other));
      }
    }
    if (whole.size() == 1) job.join(c, whole.front());
  }
}

}  // namespace collbench

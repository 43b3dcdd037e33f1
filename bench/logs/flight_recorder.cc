// PyTorch's Flight Recorder: the last collectives that a process has issued, as JSON or a pickle.
//
// `duration_ms` is that of the kernel and holds the waiting; time_created_ns is the enqueue on the
// host, and time_discovered_* when a watchdog looked: neither is a start, so records have none.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/flight_entry.h"
#include "bench/logs/json_members.h"
#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "bench/logs/pickle.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

class FlightReader {
 public:
  /// `dump` has all members of a dump but its entries.
  FlightReader(const json& dump, const std::string& file, bool is_cut, JobLog& job)
      : dump_(dump),
        job_(job),
        file_(file),
        rank_(rank_of_file(file, job)),
        transfers_before_(job.open_transfers.size()) {
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

  /// `entries` is their list as it is written, which may end early.
  void read(std::string_view entries) {
    if (!entries.starts_with('[')) return;
    for (std::string_view rest = entries.substr(1);;) {
      while (!rest.empty() && (is_json_blank(rest.front()) || rest.front() == ',')) {
        rest.remove_prefix(1);
      }
      if (rest.empty() || rest.front() == ']') break;
      FlightEntry entry;
      const OwnMembers members =
          for_each_own_member(rest, [&](std::string_view key, std::string_view value) {
            take_flight_member(key, value, is_first_version_, entry);
          });
      if (!members.whole) {
        // The last one of what was cut is half an entry.
        require(end_of_json_value(rest.data(), rest.data() + rest.size()) == nullptr,
                fmt::format("{}: no JSON: entry {} is not an object of members", file_, count_));
        break;
      }
      ++count_;
      take(entry);
      rest = members.rest;
    }
    take_status();
    forget_earlier_groups();
    std::vector<OpenTransfer>& open = job_.open_transfers;
    const auto others = open.begin() + static_cast<std::ptrdiff_t>(transfers_before_);
    open.erase(
        std::remove_if(others, open.end(),
                       [](const OpenTransfer& one) { return one.state == RecordState::completed; }),
        open.end());
  }

 private:
  void take(const FlightEntry& entry) {
    if (entry.is_transfer == "true") {
      ++job_.left_out["point-to-point entries of Flight Recorder"];
      job_.has_sends = true;
      take_transfer(entry);
      return;
    }
    LogRecord record;
    record.kind = kind_of(entry.name);
    record.sequence = written_integer(entry.sequence).value_or(-1);
    record.process = process_;
    record.state = flight_state(entry.state);
    if (record.sequence < 0) {
      ++job_.left_out["Flight Recorder entries without a sequence number"];
      return;
    }
    // Version 1 numbers a rank's groups in the order in which that rank made them.
    const std::int64_t group_number = written_integer(entry.group_number).value_or(-1);
    if (is_first_version_ && group_number > 0) {
      ++job_.left_out["Flight Recorder entries of version 1 in groups whose ranks it does not say"];
      return;
    }
    const Place place = place_in(entry.group);
    if (!place.is_member) {
      ++job_.left_out["Flight Recorder entries of a group that the rank of the file is not in"];
      return;
    }
    record.communicator = place.communicator;
    record.rank = place.rank;
    const Tensors& in = tensors(entry.input_sizes, entry.input_types);
    record.bytes = in.bytes;
    record.elements = in.elements;
    if (record.kind == LoggedKind::all_gather || record.kind == LoggedKind::reduce_scatter) {
      // The part of one rank.
      const std::int64_t out = tensors(entry.output_sizes, entry.output_types).bytes;
      if (out > 0) record.bytes = std::min(record.bytes, out);
    } else if (record.kind == LoggedKind::all_to_all) {
      const Tensors& out = tensors(entry.output_sizes, entry.output_types);
      record.parts_differ = in.bytes != out.bytes || !in.alike || !out.alike;
    }
    const double ms = number_in(entry.duration_ms).value_or(0);
    if (ms > 0) record.duration_us = 1000 * ms;
    if (ends_coalesced(entry) &&
        (close_coalesced(record) ||
         close_transfers(record.communicator, written_integer(entry.transfer).value_or(-1),
                         record.state))) {
      return;
    }
    add(record);
    numbers_[record.communicator].group = group_number;
  }

  struct Place {
    int communicator = 0;
    int rank = 0;
    bool is_member = false;
  };
  struct Tensors {
    std::int64_t bytes = 0;
    bool alike = true;
    std::uint8_t elements = 0;  // of JobLog::words
  };

  /// "nccl:recv 1<-0", "nccl:send 0->1", of ranks of the group.
  void take_transfer(const FlightEntry& entry) {
    const RecordState state = flight_state(entry.state);
    const Place place = place_in(entry.group);
    if (!place.is_member) return;
    const std::int64_t number = written_integer(entry.transfer).value_or(-1);
    if (ends_coalesced(entry) && close_transfers(place.communicator, number, state)) return;
    if (state == RecordState::completed) return;
    const std::vector<int>& members =
        job_.communicators[static_cast<std::size_t>(place.communicator)].members;
    const std::string name = written_text(entry.name);
    const std::vector<int> named = ranks_in_text(name);
    int peer = named.size() == 2 ? named[1] : -1;
    if (peer >= 0 && !members.empty()) {
      const auto at = static_cast<std::size_t>(peer);
      peer = at < members.size() ? members[at] : -1;
    }
    if (number >= 0) transfers_[{place.communicator, number}].push_back(job_.open_transfers.size());
    job_.open_transfers.push_back({rank_, peer, name.find("send") != name.npos, state});
  }

  /// Of what is coalesced each has an entry without events, which stays scheduled for ever; the one
  /// that closes the group has the state and time of them all, and their number.
  static bool ends_coalesced(const FlightEntry& entry) {
    return entry.name == "\"nccl:coalesced\"";
  }
  /// False if there are none.
  bool close_transfers(int communicator, std::int64_t number, RecordState state) {
    const auto found = transfers_.find({communicator, number});
    if (found == transfers_.end()) return false;
    for (const std::size_t at : found->second) job_.open_transfers[at].state = state;
    transfers_.erase(found);
    return true;
  }
  bool close_coalesced(const LogRecord& end) {
    const auto numbers = numbers_.find(end.communicator);
    if (numbers == numbers_.end() || numbers->second.latest != end.sequence) return false;
    const std::vector<std::size_t>& places = numbers->second.of[end.sequence];
    for (const std::size_t at : places) {
      LogRecord& record = job_.records[at];
      record.state = end.state;
      if (places.size() == 1 && end.duration_us > 0) record.duration_us = end.duration_us;
    }
    return true;
  }

  /// Coalesced collectives follow each other with one number: one operation with the bytes of all.
  /// A number below the latest is of a group that was made anew under its old name; there, what was
  /// before says nothing of the records of others.
  void add(const LogRecord& record) {
    Numbers& numbers = numbers_[record.communicator];
    if (record.sequence < numbers.latest) {
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
      const std::int64_t completed = integer_at(*own, "last_completed_collective");
      through = std::max(through, completed);
      for (const auto& [sequence, places] : numbers.of) {
        if (sequence > completed) break;
        for (const std::size_t at : places) job_.records[at].state = RecordState::completed;
      }
    }
  }

  void forget_earlier_groups() {
    if (left_behind_ == 0) return;
    std::erase_if(job_.records, [](const LogRecord& record) { return record.communicator < 0; });
    job_.left_out["Flight Recorder entries of a group before it was made anew under its name"] +=
        left_behind_;
  }

  /// Of a group: `text` is '["0","default_pg"]', its name and what it is for.
  Place place_in(std::string_view text) {
    const auto [found, is_new] = places_.try_emplace(text);
    if (is_new) found->second = made_place(text);
    return found->second;
  }

  Place made_place(std::string_view text) {
    const json group = try_parse_json<json>(text);
    std::string name = "default";
    std::string description;
    if (group.is_array() && !group.empty() && group[0].is_string()) {
      name = group[0].get<std::string>();
      if (group.size() > 1 && group[1].is_string()) description = group[1].get<std::string>();
    }
    const std::vector<int> members = members_of(name);
    // Groups of one name and other members are others.
    const std::string id = fmt::format("{} {}", name, fmt::join(members, ","));
    Place place;
    place.communicator = job_.communicator(id, name, static_cast<int>(members.size()));
    JobCommunicator& made = job_.communicators[static_cast<std::size_t>(place.communicator)];
    if (made.members.empty()) {
      made.members = members;
      made.id = "group " + printable(name);
      made.may_go_on = true;  // dumps may be asked for while the job runs
      if (!description.empty()) made.name = printable(description);
    }
    const auto at = std::find(members.begin(), members.end(), rank_);
    place.rank = members.empty() ? rank_ : static_cast<int>(at - members.begin());
    place.is_member = members.empty() || at != members.end();
    return place;
  }

  std::vector<int> members_of(const std::string& name) const {
    const auto config = dump_.find("pg_config");
    if (config == dump_.end() || !config->is_object() || !config->contains(name)) return {};
    const json& group = config->at(name);
    std::vector<int> members = ranks_in_text(text_at(group, "ranks"));
    if (group.is_object() && group.contains("ranks") && group["ranks"].is_array()) {
      members = ranks_in_text(json_text(group["ranks"]));
    }
    std::sort(members.begin(), members.end());
    return members;
  }

  LoggedKind kind_of(std::string_view name) {
    const auto [found, is_new] = kinds_.try_emplace(name);
    if (is_new) found->second = logged_kind(written_text(name));
    return found->second;
  }

  const Tensors& tensors(std::string_view sizes, std::string_view types) {
    const auto [found, is_new] = tensors_.try_emplace({sizes, types});
    if (!is_new) return found->second;
    const TensorSizes all = tensor_sizes(sizes, types);
    found->second.bytes = all.bytes;
    found->second.alike = all.alike;
    const json names = try_parse_json<json>(types);
    if (names.is_array() && !names.empty() && names[0].is_string()) {
      found->second.elements = job_.word(names[0].get<std::string>());
    }
    return found->second;
  }

  const json& dump_;
  JobLog& job_;
  const std::string& file_;
  int rank_;
  int process_ = -1;
  bool is_first_version_ = false;  // of PyTorch before 2.4
  std::int64_t count_ = 0;
  // What entries repeat, by how it is written.
  std::unordered_map<std::string_view, Place> places_;
  std::unordered_map<std::string_view, LoggedKind> kinds_;
  std::map<std::pair<std::string_view, std::string_view>, Tensors> tensors_;
  struct Numbers {
    std::map<std::int64_t, std::vector<std::size_t>> of;  // places in the records, by sequence
    std::int64_t latest = -1;
    std::int64_t group = -1;  // pg_id: the rank's own number of it
  };
  std::map<int, Numbers> numbers_;  // by communicator
  // Places of those that have not ended, by communicator and number.
  std::map<std::pair<int, std::int64_t>, std::vector<std::size_t>> transfers_;
  std::size_t transfers_before_;  // of other files
  std::int64_t left_behind_ = 0;
};

}  // namespace

void read_flight_recorder_json(std::string_view text, const std::string& file, JobLog& job) {
  text = trimmed(text);
  std::string others = "{";
  std::string_view entries;
  const auto take = [&](std::string_view key, std::string_view value) {
    if (key == "entries") {
      entries = value;
    } else {
      others += fmt::format("{}\"{}\":{}", others.size() > 1 ? "," : "", key, value);
    }
  };
  const OwnMembers members = for_each_own_member(text, take);
  std::string_view rest = members.rest;
  if (members.whole) {
    others += '}';
    others += rest;
  } else if (const auto list = rest.substr(0, 40).find("\"entries\""); list != rest.npos) {
    entries = rest.substr(std::min(rest.find('[', list), rest.size()));
  } else {
    if (others.size() == 1 && trimmed(rest).starts_with(',')) rest = trimmed(rest).substr(1);
    others += rest;
  }
  bool cut = false;
  const json dump = log_json(others, file, job, &cut);
  FlightReader(dump, file, cut, job).read(entries);
}

void read_flight_recorder_pickle(std::string_view text, const std::string& file, JobLog& job) {
  bool cut = false;
  std::string dump = json_of_pickle(text, file, cut);
  require(dump.starts_with('{') && dump.find("\"entries\":") != dump.npos,
          file + ": a pickle, but not one of Flight Recorder: it has no 'entries'");
  // The last values may be half of what they were: without an end they are read as those of JSON
  // that was cut.
  if (cut) dump.resize(dump.find_last_not_of("]}") + 1);
  read_flight_recorder_json(dump, file, job);
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

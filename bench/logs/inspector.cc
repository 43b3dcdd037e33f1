// NCCL Inspector: one JSON object per line, of which no values are made: a million of them take a
// few seconds.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "bench/logs/json_members.h"
#include "bench/logs/log_readers.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

/// The members of a line that count, by the object they stand in. Texts are views of the line.
struct InspectorLine {
  std::string_view id, comm_name, version, hostname, kind, timing, algorithm, protocol;
  double rank = -1, n_ranks = 0, nodes = 0, pid = 0, sequence = -1, bytes = -1, time_us = -1;
  double rate_gbs = 0;                // bytes / time, as Inspector itself counts it
  double kernel_stop = unknown_time;  // the latest of its kernels, of verbose lines
  bool is_collective = false, is_point_to_point = false, is_statistics = false;
};

struct InspectorText {
  std::string_view name;
  std::string_view InspectorLine::*member;
};
constexpr std::array<InspectorText, 8> inspector_texts = {
    {{"id", &InspectorLine::id},
     {"comm_name", &InspectorLine::comm_name},
     {"inspector_output_format_version", &InspectorLine::version},
     {"hostname", &InspectorLine::hostname},
     {"coll", &InspectorLine::kind},
     {"coll_timing_source", &InspectorLine::timing},
     {"coll_algo", &InspectorLine::algorithm},
     {"coll_proto", &InspectorLine::protocol}}};
struct InspectorNumber {
  std::string_view name;
  double InspectorLine::*member;
};
constexpr std::array<InspectorNumber, 8> inspector_numbers = {
    {{"rank", &InspectorLine::rank},
     {"n_ranks", &InspectorLine::n_ranks},
     {"nnodes", &InspectorLine::nodes},
     {"pid", &InspectorLine::pid},
     {"coll_sn", &InspectorLine::sequence},
     {"coll_msg_size_bytes", &InspectorLine::bytes},
     {"coll_exec_time_us", &InspectorLine::time_us},
     {"coll_algobw_gbs", &InspectorLine::rate_gbs}}};

void take_member(std::string_view key, std::string_view value, InspectorLine& line) {
  if (value == "{") {
    if (key == "coll_perf") line.is_collective = true;
    if (key == "p2p_perf") line.is_point_to_point = true;
    if (key == "dump_stats") line.is_statistics = true;
    return;
  }
  for (const InspectorText& text : inspector_texts) {
    if (key == text.name) line.*text.member = value;
  }
  const auto number = [&] { return number_in(value).value_or(unknown_time); };
  for (const InspectorNumber& known : inspector_numbers) {
    if (key == known.name) line.*known.member = number();
  }
  if (key == "kernel_stop_ts") line.kernel_stop = std::fmax(line.kernel_stop, number());
}

bool is_whole(double value, double least, double most) {
  return value >= least && value <= most && value == std::floor(value);
}

void note_version(std::string_view version, JobLog& job) {
  if (version.empty() || version.starts_with("v4.")) return;
  job.note_once("Inspector's format " + printable(version) +
                " is not known (known is v4): its keys are used as far as they are the same");
}

/// Whether the time is in nanoseconds, milliseconds or seconds, by the rate that stands beside it:
/// what others write under the same key. Inspector cuts times to whole microseconds, and its rate
/// is of the parts of all ranks where the bytes are one's.
bool is_in_another_unit(const InspectorLine& line) {
  const LoggedKind kind = logged_kind(line.kind);
  const bool has_parts = kind == LoggedKind::all_gather || kind == LoggedKind::reduce_scatter;
  const double of_bytes = line.rate_gbs * line.time_us * 1e3 / line.bytes;
  const double factor = has_parts ? of_bytes / line.n_ranks : of_bytes;
  const double cut = std::clamp(1 / line.time_us, 0.05, 0.9);
  const auto near = [&](double unit) { return std::abs(factor / unit - 1) < cut; };
  const bool is_right = std::abs(of_bytes - 1) < cut;
  return !is_right && (near(1e3) || near(1e-3) || near(1e-6));
}

/// NCCL numbers the calls of each of its functions by themselves. Of one with parts of unlike sizes
/// and of those that are `other` the numbers are told apart.
std::int64_t numbered(std::string_view name, std::int64_t sequence) {
  constexpr std::array<std::string_view, 4> apart = {"AllGatherV", "Gather", "Scatter",
                                                     "AllToAllV"};
  const auto at = std::find(apart.begin(), apart.end(), name) - apart.begin();
  return at == std::ssize(apart) ? sequence : sequence + ((at + 1) << 50);
}

/// Why a line that is JSON cannot be used; empty if it can.
std::string unusable(const InspectorLine& line) {
  if (line.is_point_to_point) return "point-to-point records of NCCL Inspector";
  if (line.is_statistics) return "statistics records of NCCL Inspector";
  if (!line.is_collective) return "Inspector lines that are not collectives";
  const bool whole = is_whole(line.rank, 0, line.n_ranks - 1) &&
                     is_whole(line.n_ranks, 1, 1 << 24) && is_whole(line.sequence, 0, 1e15) &&
                     is_whole(line.bytes, 0, 1e15);
  if (!whole || line.id.empty()) return "Inspector records without rank, sequence or size";
  if (line.timing == "collective_cpu") {
    return "Inspector records timed by collective_cpu, which is the enqueue and not the kernel";
  }
  if (!(line.time_us > 0)) return "Inspector records without a time";
  if (is_in_another_unit(line)) {
    return "Inspector records whose time is not in microseconds, by the rate beside it";
  }
  return {};
}

class InspectorReader {
 public:
  InspectorReader(const std::string& file, JobLog& job) : file_(file), job_(job) {}

  bool take(std::string_view text) {
    InspectorLine line;
    const bool complete = for_each_member(
        text, [&](std::string_view key, std::string_view value) { take_member(key, value, line); });
    const std::string reason =
        complete ? unusable(line) : "lines of NCCL Inspector that are cut short or no JSON";
    if (!reason.empty()) {
      ++job_.left_out[reason];
      job_.has_sends = job_.has_sends || line.is_point_to_point;
      return false;
    }
    note_version(line.version, job_);
    remember(line);
    LogRecord& record = job_.records.emplace_back();
    record.communicator = communicator_;
    record.process = process_;
    record.rank = static_cast<int>(line.rank);
    record.kind = kind_;
    record.sequence = numbered(line.kind, static_cast<std::int64_t>(line.sequence));
    record.bytes = static_cast<std::int64_t>(line.bytes);
    record.duration_us = line.time_us;
    // When the proxy noticed: later than the kernel by about as much at every end.
    if (line.kernel_stop > 0) record.start_us = line.kernel_stop - line.time_us;
    record.algorithm = line.algorithm.empty() ? 0 : job_.word(line.algorithm);
    record.protocol = line.protocol.empty() ? 0 : job_.word(line.protocol);
    return true;
  }

 private:
  /// Looks names up only where they differ from those of the line before.
  void remember(const InspectorLine& line) {
    if (process_ < 0 || line.pid != pid_ || line.hostname != host_) {
      pid_ = line.pid;
      host_ = line.hostname;
      process_ = line.hostname.empty()
                     ? job_.process(file_)
                     : job_.process(fmt::format("{} pid {:.0f}", host_, pid_), host_);
    }
    const bool is_same = line.id == id_ && line.comm_name == comm_name_ && line.n_ranks == n_ranks_;
    if (communicator_ < 0 || !is_same) {
      id_ = line.id;
      comm_name_ = line.comm_name;
      n_ranks_ = line.n_ranks;
      communicator_ = job_.communicator(fmt::format("{} {}", id_, comm_name_), comm_name_,
                                        static_cast<int>(line.n_ranks));
      JobCommunicator& named = job_.communicators[static_cast<std::size_t>(communicator_)];
      named.id = printable(line.id);
      if (is_whole(line.nodes, 1, line.n_ranks)) named.nodes = static_cast<int>(line.nodes);
    }
    if (line.kind != name_) {
      name_ = line.kind;
      kind_ = line.kind == "AllGatherV" ? LoggedKind::other : logged_kind(line.kind);
    }
  }

  const std::string& file_;
  JobLog& job_;
  int process_ = -1, communicator_ = -1;
  double pid_ = -1, n_ranks_ = -1;
  std::string host_, id_, comm_name_, name_;
  LoggedKind kind_ = LoggedKind::other;
};

}  // namespace

void read_inspector(std::string_view text, const std::string& file, JobLog& job) {
  InspectorReader reader(file, job);
  bool any = false;
  for_each_line(text, [&](std::string_view line) {
    if (line.find_first_not_of(" \t\r") == line.npos) return;
    any = reader.take(line) || any;
  });
  if (!any) job.note_once(file + ": no record of NCCL Inspector in it can be used");
}

}  // namespace collbench

// The trace of NCCL's example profiler: Chrome events, of which COLL says what, and the KernelCh
// events within it say when on the GPU's clock, per channel. COLL itself brackets the enqueue.
//
// How many ranks there are is not said. Where all bytes that a rank sends go through the proxy of a
// ring, their share of the vector, 2(n-1)/n, tells it.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

/// With quotes around words that old versions leave bare: "Datatype": ncclFloat32, "Stream": 0x55.
std::string with_quoted_words(std::string_view text) {
  std::string fixed;
  fixed.reserve(text.size());
  QuoteScanner quotes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool bare =
        quotes.outside(c) && (text.substr(at, 4) == "nccl" || text.substr(at, 2) == "0x");
    if (!bare) {
      fixed += c;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    fixed += '"' + std::string(text.substr(at, end - at)) + '"';
    at = end - 1;
  }
  return fixed;
}

/// A collective between its COLL events.
struct TracedCollective {
  json args;
  std::string name;
  double start_ns = unknown_time, stop_ns = unknown_time;
  double sent_bytes = 0;
  std::int64_t process = -1;
};

class ProfilerReader {
 public:
  ProfilerReader(const std::string& file, JobLog& job) : job_(job), file_(file) {}

  void take(const json& event) {
    if (!event.is_object()) return;
    const std::string category = text_at(event, "cat");
    const bool begins = text_at(event, "ph") == "b";
    const json args = event.value("args", json::object());
    job_.has_sends = job_.has_sends || category == "P2P";
    // The kernels and proxies of a send are not those of the collective before it.
    if (category == "COLL" || category == "P2P") {
      finish();
      if (begins && category == "COLL") {
        open_ = TracedCollective{args, text_at(event, "name")};
        open_->process = integer_at(event, "pid");
      }
    } else if (category == "GPU" && begins && open_) {
      open_->start_ns = std::fmin(open_->start_ns, number_at(args, "StartGpuClk"));
      open_->stop_ns = std::fmax(open_->stop_ns, number_at(args, "StopGpuClk"));
    } else if (category == "PROXY" && text_at(event, "name") == "ScheduleSend" && begins && open_) {
      open_->sent_bytes += std::max(number_at(args, "transSize", 0), 0.0);
    }
  }

  void finish() {
    if (!open_) return;
    const TracedCollective traced = std::move(*open_);
    open_.reset();
    const std::int64_t sequence = integer_at(traced.args, "SeqNum");
    const std::int64_t rank = integer_at(traced.args, "Rank");
    const double duration = (traced.stop_ns - traced.start_ns) * 1e-3;
    if (sequence < 0 || rank < 0 || rank > (1 << 20)) {
      ++job_.left_out["collectives of NCCL's profiler without rank or sequence"];
      return;
    }
    if (!(duration > 0)) {
      ++job_.left_out["collectives of NCCL's profiler without kernel events: its pools were full"];
      return;
    }
    const std::int64_t count =
        std::clamp<std::int64_t>(integer_at(traced.args, "Count", 0), 0, std::int64_t{1} << 45);
    LogRecord record;
    record.kind = logged_kind(traced.name);
    record.bytes = count * element_bytes_of(text_at(traced.args, "Datatype"));
    record.rank = static_cast<int>(rank);
    // A process has a file for each of its communicators.
    record.process =
        job_.process(traced.process < 0 ? file_ : fmt::format("pid {}", traced.process));
    record.sequence = sequence;
    record.duration_us = duration;
    record.start_us = traced.start_ns * 1e-3;
    record.algorithm = job_.word(text_at(traced.args, "Algorithm"));
    record.protocol = job_.word(text_at(traced.args, "Protocol"));
    const std::string hash =
        traced.args.contains("CommHash") ? json_text(traced.args["CommHash"]) : std::string("0");
    record.communicator = job_.communicator(hash, "", 0);
    job_.records.push_back(record);
    if (text_at(traced.args, "Algorithm") == "RING") learn_ranks(record, traced.sent_bytes);
  }

 private:
  void learn_ranks(const LogRecord& record, double sent_bytes) {
    if (record.kind != LoggedKind::all_reduce || record.bytes <= 0 || sent_bytes <= 0) return;
    const double share = sent_bytes / static_cast<double>(record.bytes);
    const double ranks = 2 / (2 - share);
    if (!(share < 2) || ranks > 4096 || std::abs(ranks - std::round(ranks)) > 0.02) return;
    JobCommunicator& one = job_.communicators[static_cast<std::size_t>(record.communicator)];
    if (one.ranks != 0 || ranks < record.rank + 1) return;
    one.ranks = static_cast<int>(std::round(ranks));
    job_.note_once(fmt::format(
        "the number of ranks of {}, {}, follows from the share of its vectors that rings send",
        one.id, one.ranks));
  }

  JobLog& job_;
  const std::string& file_;
  std::optional<TracedCollective> open_;
};

/// Whether a process of one number has two ranks of a communicator.
bool has_two_ranks_of_one(const JobLog& job, std::string_view format) {
  std::map<std::pair<int, int>, int> rank_of;  // by communicator and process
  for (const LogRecord& record : job.records) {
    if (job.communicators[static_cast<std::size_t>(record.communicator)].format != format) continue;
    const auto place = std::pair(record.communicator, record.process);
    if (rank_of.try_emplace(place, record.rank).first->second != record.rank) return true;
  }
  return false;
}

}  // namespace

void part_processes_of_one_number(JobLog& job) {
  constexpr std::string_view format = "NCCL profiler";
  if (!has_two_ranks_of_one(job, format)) return;
  for (LogRecord& record : job.records) {
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(record.communicator)];
    if (one.format != format) continue;
    record.process = job.process(fmt::format(
        "{}, rank {} of {}", job.processes[static_cast<std::size_t>(record.process)].name,
        record.rank, one.id));
  }
}

void read_nccl_profiler(std::string_view text, const std::string& file, JobLog& job) {
  const json events = log_json(with_quoted_words(text), file, job);
  require(events.is_array(), file + ": a trace of NCCL's profiler is an array");
  ProfilerReader reader(file, job);
  for (const json& event : events) reader.take(event);
  reader.finish();
}

}  // namespace collbench

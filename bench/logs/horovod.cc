// Horovod's timeline, which rank 0 writes: when each rank asked for a tensor, on rank 0's clock and
// once per cycle, and how long the operation took then. Tensors that were fused repeat one
// operation, each with stamps of its own a few microseconds later: it counts once with the bytes of
// all, and a rank arrives with its last tensor.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"

namespace collbench {
namespace {

using nlohmann::json;

/// What one tensor does: negotiated, then carried out.
struct TimelineTensor {
  std::map<int, double> asked_us;                    // by rank
  std::vector<std::pair<std::string, double>> open;  // activities that have begun
  double moved_from = unknown_time, moved_to = unknown_time;
};

// Begins and ends of neighbours among fused tensors (horovod/common/timeline.cc stamps each).
// Others begin when the ones before them have ended.
constexpr double fused_within_us = 50;

/// "NCCL_ALLREDUCE", "MPI_ALLREDUCE": what moves data, not what waits or copies.
bool moves_data(const std::string& activity) {
  for (const char* prefix : {"NCCL_", "MPI_", "GLOO_", "CCL_"}) {
    if (activity.starts_with(prefix)) return true;
  }
  return false;
}

/// "[1024, 1000]": the product.
double elements_of(std::string_view shape) {
  double elements = 1;
  while (!shape.empty()) {
    std::size_t digits = 0;
    while (digits < shape.size() && std::isdigit(static_cast<unsigned char>(shape[digits])) != 0) {
      ++digits;
    }
    double extent = 1;
    std::from_chars(shape.data(), shape.data() + digits, extent);
    elements *= extent;
    shape.remove_prefix(std::max<std::size_t>(digits, 1));
  }
  return elements;
}

class TimelineReader {
 public:
  TimelineReader(const std::string& file, JobLog& job) : job_(job) { process_ = job.process(file); }

  void take(const json& event) {
    if (!event.is_object()) return;
    const std::string phase = text_at(event, "ph");
    const double at = number_at(event, "ts");
    if (phase == "M" || !std::isfinite(at)) return;
    TimelineTensor& tensor = tensors_[integer_at(event, "pid")];
    const std::string name = text_at(event, "name");
    if (phase == "B") {
      if (name.starts_with("NEGOTIATE_")) tensor = TimelineTensor();
      tensor.open.emplace_back(name, at);
    } else if (phase == "X") {
      const auto rank = small_integer_in(name, 0, 1 << 20);
      if (rank) tensor.asked_us.try_emplace(*rank, at);
    } else if (phase == "E" && !tensor.open.empty()) {
      const auto [activity, begin] = tensor.open.back();
      tensor.open.pop_back();
      if (moves_data(activity)) {
        (activity.starts_with("NCCL_") ? by_gpus_ : by_processors_) = true;
        tensor.moved_from = std::fmin(tensor.moved_from, begin);
        tensor.moved_to = std::fmax(tensor.moved_to, at);
      }
      const json args = event.value("args", json::object());
      if (args.contains("shape")) carried_out(tensor, activity, args);
    }
  }

  void finish() {
    take_unfinished();
    if (by_processors_ && !by_gpus_) job_.of_processors = true;
    if (untold_ > told_) {
      job_.note_once(
          "Horovod's timeline says which rank asked when only where ranks negotiate: with the "
          "response cache (HOROVOD_CACHE_CAPACITY, on unless it is 0) that is the first time of "
          "each tensor, so it is the start of the job that is judged");
    }
    // Ticks are the only names of ranks; as many as ever asked take part.
    int ranks = 0;
    for (const LogRecord& record : job_.records) {
      if (record.process == process_) ranks = std::max(ranks, record.rank + 1);
    }
    const int communicator = job_.communicator("Horovod", "global", ranks);
    job_.communicators[static_cast<std::size_t>(communicator)].may_go_on = true;
    for (LogRecord& record : job_.records) {
      if (record.process != process_) continue;
      record.communicator = communicator;
      record.process = job_.process(fmt::format("Horovod rank {}", record.rank));
      job_.processes[static_cast<std::size_t>(record.process)].rank = record.rank;
    }
  }

 private:
  /// What some ranks have asked for and others had not when the timeline ended: in order of time.
  void take_unfinished() {
    std::map<double, const TimelineTensor*> unfinished;
    for (const auto& [id, tensor] : tensors_) {
      const bool is_asked_for =
          !tensor.open.empty() && tensor.open.back().first.starts_with("NEGOTIATE_");
      if (is_asked_for && !tensor.asked_us.empty()) {
        unfinished.try_emplace(tensor.open.back().second, &tensor);
      }
    }
    for (const auto& [begin, tensor] : unfinished) {
      ++sequence_;
      for (const auto& [rank, at] : tensor->asked_us) {
        LogRecord& record = job_.records.emplace_back();
        record.kind = logged_kind(tensor->open.back().first);
        record.state = RecordState::scheduled;
        record.rank = rank;
        record.process = process_;
        record.sequence = sequence_;
      }
    }
  }

  void carried_out(const TimelineTensor& tensor, const std::string& activity, const json& args) {
    const double transfer = tensor.moved_to - tensor.moved_from;
    if (tensor.asked_us.size() < 2 || !(transfer > 0)) {
      ++job_.left_out["Horovod tensors without ticks of ranks or a transfer"];
      ++untold_;
      return;
    }
    const double bytes =
        elements_of(text_at(args, "shape")) * element_bytes_of(text_at(args, "dtype"));
    ++told_;
    const bool is_fused = tensor.moved_from < last_.moved_to &&
                          std::abs(tensor.moved_from - last_.moved_from) <= fused_within_us &&
                          std::abs(tensor.moved_to - last_.moved_to) <= fused_within_us;
    if (!is_fused) {
      first_of_last_ = job_.records.size();
      last_.asked_us.clear();
      bytes_ = 0;
      ++sequence_;
    }
    if (bytes < 1e15) bytes_ += static_cast<std::int64_t>(bytes);
    last_.moved_from = tensor.moved_from;
    last_.moved_to = tensor.moved_to;
    for (const auto& [rank, at] : tensor.asked_us) {
      double& latest = last_.asked_us.try_emplace(rank, at).first->second;
      latest = std::max(latest, at);
    }
    write_last(logged_kind(activity), transfer);
  }

  /// The records of the last operation, anew for each of its tensors.
  void write_last(LoggedKind kind, double transfer_us) {
    job_.records.resize(first_of_last_);
    double last = 0;
    for (const auto& [rank, at] : last_.asked_us) last = std::max(last, at);
    for (const auto& [rank, at] : last_.asked_us) {
      LogRecord& record = job_.records.emplace_back();
      record.kind = kind;
      record.rank = rank;
      record.process = process_;
      record.sequence = sequence_;
      record.bytes = bytes_;
      // As a kernel would: from asking until the end, without what the coordinator adds.
      record.duration_us = last - at + transfer_us;
    }
  }

  JobLog& job_;
  int process_ = -1;
  std::map<std::int64_t, TimelineTensor> tensors_;
  std::int64_t sequence_ = -1;
  TimelineTensor last_;  // the operation before, of all tensors that were fused
  std::int64_t bytes_ = 0;
  std::size_t first_of_last_ = 0;
  std::int64_t told_ = 0, untold_ = 0;  // tensors with ticks of ranks, and without
  bool by_gpus_ = false, by_processors_ = false;
};

}  // namespace

void read_horovod(std::string_view text, const std::string& file, JobLog& job) {
  const json events = log_json(text, file, job);
  require(events.is_array(), file + ": a Horovod timeline is an array of events");
  TimelineReader reader(file, job);
  for (const json& event : events) reader.take(event);
  reader.finish();
  job.note_once(
      "Horovod's negotiation is on rank 0's clock and once per cycle: lateness below a "
      "cycle cannot be seen");
}

}  // namespace collbench

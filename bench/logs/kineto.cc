// PyTorch's profiler (Kineto): collectives by their kernels, which carry what was asked of NCCL.
//
// The names of kernels say little: all-reduces are built as Sum_TYPE_{TREE|RING}_LL only, so that
// only TREE can be read from them, and in traces of 2023 reduce-scatters run as SendRecv. Newer
// traces copy the arguments of the collective onto the kernel; in others they are found by its
// correlation with the launch and the launch's "External id". PyTorch before 2.1 has no arguments:
// there the annotation "nccl:all_reduce" in which the kernel was launched says the collective and
// its input, and the stream stands for the group.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

bool is_collective_kernel(const std::string& name) {
  return name.starts_with("ncclDevKernel") || name.starts_with("ncclKernel");
}

/// Of "[3, 4, ...]"; an all-to-all of equal parts has "[]".
bool parts_differ(std::string_view sizes) {
  constexpr std::string_view figures = "0123456789";
  std::string_view first;
  for (std::size_t at = sizes.find_first_of(figures); at < sizes.size();) {
    const std::size_t end = std::min(sizes.find_first_not_of(figures, at), sizes.size());
    const std::string_view part = sizes.substr(at, end - at);
    if (!first.empty() && part != first) return true;
    first = part;
    at = sizes.find_first_of(figures, end);
  }
  return false;
}

class KinetoReader {
 public:
  KinetoReader(const json& trace, const std::string& file, JobLog& job) : trace_(trace), job_(job) {
    const json info = trace.value("distributedInfo", json::object());
    std::int64_t stated = integer_at(info, "rank");
    if (stated < 0) stated = rank_of_collectives();
    rank_ = stated >= 0 && stated <= 1 << 20 ? static_cast<int>(stated) : rank_of_file(file, job);
    process_ = job.process(file);
    job.processes[static_cast<std::size_t>(process_)].rank = rank_;
    const double base = number_at(trace, "baseTimeNanoseconds", 0);
    base_us_ = base / 1000;
    world_ =
        static_cast<int>(std::clamp<std::int64_t>(integer_at(info, "world_size", 0), 0, 1 << 20));
    if (info.contains("pg_config") && info["pg_config"].is_array()) {
      for (const json& group : info["pg_config"]) {
        if (group.is_object() && group.contains("ranks")) {
          members_[text_at(group, "pg_name")] = ranks_in_text(json_text(group["ranks"]));
        }
      }
    }
    if (trace.contains("deviceProperties") && trace["deviceProperties"].is_array() &&
        !trace["deviceProperties"].empty()) {
      job.device = printable(text_at(trace["deviceProperties"].front(), "name"));
    }
  }

  void read() {
    const auto events = trace_.find("traceEvents");
    if (events == trace_.end() || !events->is_array()) return;
    std::size_t before = job_.records.size();
    for (const json& event : *events) link(event);
    for (auto& [thread, calls] : annotated_) {
      std::stable_sort(calls.begin(), calls.end(), [](const json* a, const json* b) {
        return number_at(*a, "ts", 0) < number_at(*b, "ts", 0);
      });
    }
    for (const json& event : *events) {
      if (text_at(event, "cat") == "kernel") take_kernel(event);
    }
    if (job_.records.size() == before && asked_ > 0) {
      job_.left_out["collectives of Kineto traces without kernels: enqueued, not timed"] += asked_;
    }
  }

 private:
  /// By its place in the largest group, for traces without distributedInfo; -1 if nothing says it.
  std::int64_t rank_of_collectives() const {
    std::int64_t rank = -1;
    std::size_t largest = 0;
    const auto events = trace_.find("traceEvents");
    if (events == trace_.end() || !events->is_array()) return rank;
    for (const json& event : *events) {
      if (text_at(event, "name") != "record_param_comms") continue;
      const json args = event.value("args", json::object());
      const std::int64_t place = integer_at(args, "Rank");
      const std::vector<int> members = ranks_in_text(text_at(args, "Process Group Ranks"));
      if (place < 0 || (rank >= 0 && members.size() <= largest)) continue;
      largest = members.size();
      const auto at = static_cast<std::size_t>(place);
      rank = at < members.size() ? members[at] : place;
    }
    return rank;
  }

  /// Remembers what a collective asked for, and which launch belongs to it.
  void link(const json& event) {
    const auto args = event.is_object() ? event.find("args") : event.end();
    if (args == event.end() || !args->is_object()) return;
    const std::int64_t external = integer_at(*args, "External id");
    const std::string name = text_at(event, "name");
    if (name == "record_param_comms") {
      ++asked_;
      if (external >= 0 && args->contains("Collective name")) asked_of_[external] = &*args;
    } else if (name.starts_with("nccl:")) {
      annotated_[integer_at(event, "tid")].push_back(&event);
    } else if (external >= 0 && args->contains("cbid")) {
      launches_[integer_at(*args, "correlation")] = {external, &event};
    }
  }

  const json* arguments_of(const json& kernel_args) const {
    if (kernel_args.contains("Collective name")) return &kernel_args;
    std::int64_t external = integer_at(kernel_args, "External id");
    const auto launch = launches_.find(integer_at(kernel_args, "correlation", -2));
    if (launch != launches_.end()) external = launch->second.external;
    const auto found = asked_of_.find(external);
    return found == asked_of_.end() ? nullptr : found->second;
  }

  /// The call of PyTorch's in which a kernel was launched.
  const json* annotation_of(const json& kernel_args) const {
    const auto launch = launches_.find(integer_at(kernel_args, "correlation", -2));
    if (launch == launches_.end()) return nullptr;
    const auto calls = annotated_.find(integer_at(*launch->second.event, "tid"));
    if (calls == annotated_.end()) return nullptr;
    const double at = number_at(*launch->second.event, "ts");
    const auto later =
        std::upper_bound(calls->second.begin(), calls->second.end(), at,
                         [](double t, const json* call) { return t < number_at(*call, "ts", 0); });
    if (later == calls->second.begin()) return nullptr;
    const json* call = *std::prev(later);
    return at <= number_at(*call, "ts") + number_at(*call, "dur") ? call : nullptr;
  }

  void take_kernel(const json& event) {
    const double start = base_us_ + number_at(event, "ts");
    const double duration = number_at(event, "dur");
    const std::string name = text_at(event, "name");
    if (!(duration >= 0) || !std::isfinite(start)) {
      ++job_.left_out["kernels of Kineto traces without a time"];
      return;
    }
    if (!is_collective_kernel(name)) {
      job_.computing.push_back({process_, start, duration});
      return;
    }
    const auto args = event.find("args");
    const bool has_args = args != event.end() && args->is_object();
    LogRecord record;
    record.process = process_;
    record.start_us = start;
    record.duration_us = duration;
    if (name.find("_TREE_") != name.npos) record.algorithm = job_.word("tree");
    if (const json* asked = has_args ? arguments_of(*args) : nullptr; asked != nullptr) {
      take_arguments(*asked, record);
    } else if (const json* call = has_args ? annotation_of(*args) : nullptr; call != nullptr) {
      take_annotation(*call, *args, record);
    } else {
      ++job_.left_out["collective kernels of Kineto traces whose arguments are not there"];
      return;
    }
    if (record.sequence < 0) {
      record.sequence = count_[{record.communicator, record.kind}]++;
      job_.communicators[static_cast<std::size_t>(record.communicator)].counted = true;
    }
    job_.records.push_back(record);
  }

  void take_arguments(const json& asked, LogRecord& record) {
    record.kind = logged_kind(text_at(asked, "Collective name"));
    const std::int64_t in = integer_at(asked, "In msg nelems", 0);
    const std::int64_t out = integer_at(asked, "Out msg nelems", in);
    const bool part =
        record.kind == LoggedKind::all_gather || record.kind == LoggedKind::reduce_scatter;
    const std::int64_t elements = std::clamp<std::int64_t>(part ? std::min(in, out) : in, 0, most);
    record.bytes = elements * element_bytes_of(text_at(asked, "dtype"));
    record.parts_differ = record.kind == LoggedKind::all_to_all &&
                          (in != out || parts_differ(text_at(asked, "In split size")) ||
                           parts_differ(text_at(asked, "Out split size")));
    find_group(asked, record);
    record.sequence = integer_at(asked, "Seq");
  }

  /// The ranks of one communicator launch on one stream, whose number is mostly the same on all.
  void take_annotation(const json& call, const json& kernel_args, LogRecord& record) {
    record.kind = logged_kind(text_at(call, "name"));
    const std::string stream = fmt::format("stream {}", integer_at(kernel_args, "stream"));
    record.communicator = job_.communicator(stream, stream, world_);
    job_.communicators[static_cast<std::size_t>(record.communicator)].states_ranks = false;
    record.rank = rank_;
    record.sequence = -1;
    record.parts_differ = record.kind == LoggedKind::all_to_all;  // not said
    const json given = call.value("args", json::object());
    const json shapes = given.value("Input Dims", json::array());
    const json types = given.value("Input type", json::array());
    if (shapes.empty() || types.empty() || !shapes[0].is_array() || !types[0].is_string()) return;
    std::int64_t elements = 1;
    for (const json& length : shapes[0]) {
      if (!length.is_number_integer()) return;
      elements *= std::clamp<std::int64_t>(length.get<std::int64_t>(), 0, most / elements);
      if (elements == 0) return;
    }
    if (record.kind == LoggedKind::reduce_scatter) elements /= std::max(1, world_);
    record.bytes = elements * element_bytes_of(types[0].get<std::string>());
  }

  void find_group(const json& asked, LogRecord& record) {
    std::string name = text_at(asked, "Process Group Name");
    std::vector<int> members = ranks_in_text(text_at(asked, "Process Group Ranks"));
    if (members.empty() && members_.contains(name)) members = members_[name];
    const std::int64_t stated = integer_at(asked, "Group size", 0);
    const auto size = members.empty()
                          ? static_cast<int>(std::clamp<std::int64_t>(stated, 0, 1 << 20))
                          : static_cast<int>(members.size());
    std::sort(members.begin(), members.end());
    record.communicator =
        job_.communicator(fmt::format("{} {}", name, fmt::join(members, ",")), name, size);
    JobCommunicator& made = job_.communicators[static_cast<std::size_t>(record.communicator)];
    if (made.members.empty()) {
      made.members = members;
      made.id = "group " + printable(name);
      const std::string description = text_at(asked, "Process Group Description");
      if (!description.empty()) made.name = printable(description);
    }
    const auto at = std::find(members.begin(), members.end(), rank_);
    record.rank = at != members.end() ? static_cast<int>(at - members.begin()) : rank_;
  }

  struct Launch {
    std::int64_t external;
    const json* event;
  };

  static constexpr std::int64_t most = std::int64_t{1} << 45;  // elements

  const json& trace_;
  JobLog& job_;
  int rank_ = 0;
  int world_ = 0;  // ranks of the job; 0: not said
  int process_ = -1;
  double base_us_ = 0;
  std::int64_t asked_ = 0;
  std::map<std::string, std::vector<int>> members_;
  std::map<std::int64_t, const json*> asked_of_;
  std::map<std::int64_t, Launch> launches_;                     // by correlation
  std::map<std::int64_t, std::vector<const json*>> annotated_;  // by thread, in order of time
  std::map<std::pair<int, LoggedKind>, std::int64_t> count_;
};

}  // namespace

void read_kineto(std::string_view text, const std::string& file, JobLog& job) {
  const json trace = log_json(text, file, job);
  require(trace.is_object(), file + ": a Kineto trace is an object");
  KinetoReader(trace, file, job).read();
}

}  // namespace collbench

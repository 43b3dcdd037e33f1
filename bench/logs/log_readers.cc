#include "bench/logs/log_readers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "transports/mpi/profile/profile_format.h"

namespace collbench {
namespace {

bool begins_like_json(std::string_view head) {
  const std::string_view start = trimmed(head);
  return start.starts_with('{') || start.starts_with('[');
}

constexpr std::array<LogReader, 21> reader_rows = {{
    {"collbench",
     [](std::string_view head) {
       return begins_like_json(head) && mentions(head, "\"schema_version\"") &&
              mentions(head, "\"environment\"");
     },
     read_own_records},
    {"NCCL Inspector",
     [](std::string_view head) {
       return mentions(head, "\"header\"") && mentions(head, "\"inspector_output_format_version\"");
     },
     read_inspector},
    {"NCCL Inspector's metrics",
     [](std::string_view head) {
       return mentions(head, "nccl_collective_exec_time_microseconds{");
     },
     read_inspector_prometheus},
    {"Flight Recorder",
     [](std::string_view head) {
       // Without entries there are its groups only.
       return begins_like_json(head) &&
              (mentions(head, "\"collective_seq_id\"") || mentions(head, "\"pg_status\""));
     },
     read_flight_recorder_json},
    {"Flight Recorder (pickle)",
     [](std::string_view head) {
       return head.starts_with('\x80') ||
              (mentions(head, "collective_seq_id") && head.starts_with('}'));
     },
     read_flight_recorder_pickle},
    {"Kineto",
     [](std::string_view head) {
       return begins_like_json(head) && mentions(head, "\"traceEvents\"");
     },
     read_kineto},
    {"NCCL profiler",
     [](std::string_view head) {
       return begins_like_json(head) &&
              (mentions(head, "\"GROUP_API\"") || mentions(head, "\"KernelCh\"") ||
               mentions(head, "\"COLL\""));
     },
     read_nccl_profiler},
    {"NCCL RAS",
     [](std::string_view head) {
       return begins_like_json(head) && mentions(head, "\"communicators\"");
     },
     read_nccl_ras},
    {"NCCL RAS (text)",
     [](std::string_view head) {
       return mentions(head, "Job summary") && mentions(head, "Communicators...");
     },
     read_nccl_ras_text},
    {"Horovod timeline",
     [](std::string_view head) {
       return begins_like_json(head) &&
              (mentions(head, "NEGOTIATE_") || mentions(head, "start_time_since_epoch_in_micros"));
     },
     read_horovod},
    {"Chakra (JSON)",
     [](std::string_view head) {
       return begins_like_json(head) && (mentions(head, "\"workload_graph\"") ||
                                         mentions(head, "_NODE\"") || mentions(head, "chakra"));
     },
     read_chakra_json},
    {"mpiP", [](std::string_view head) { return mentions(head, "@ mpiP"); }, read_mpip},
    {"Open MPI monitoring",
     [](std::string_view head) {
       return mentions(head, "# POINT TO POINT") && mentions(head, "# COLLECTIVES");
     },
     read_ompi_monitoring},
    {"liballprof",
     [](std::string_view head) {
       return head.starts_with("# collprof ") || head.starts_with("MPI_Init:") ||
              mentions(head, "\nMPI_Allreduce:");
     },
     read_liballprof},
    {"MPI profile", [](std::string_view head) { return head.starts_with(profile_magic); },
     read_mpi_profile},
    {"GOAL",
     [](std::string_view head) { return mentions(head, "num_ranks ") && mentions(head, "rank 0"); },
     read_goal_text},
    {"GOAL (binary)",
     [](std::string_view head) {
       return head.starts_with(std::string_view("\x7f\x10\0\0\0\0\0\0", 8));
     },
     read_goal_binary},
    {"NCCL_DEBUG", [](std::string_view output) { return mentions(output, " NCCL INFO "); },
     read_nccl_debug, true},
    {"PyTorch's watchdog", has_watchdog, read_pytorch_watchdog, true},
    {"Horovod's stall inspector", has_horovod_stall, read_horovod_stall, true},
    // The last: it has no mark of its own.
    {"Chakra", is_chakra, read_chakra},
}};

struct ElementSize {
  int bytes;
  std::array<std::string_view, 14> names;
};
// By letters and digits in lower case, without the prefixes "nccl", "mpi", "torch" and "c10".
constexpr std::array<ElementSize, 4> element_sizes = {{
    {1,
     {"int8", "uint8", "char", "byte", "bool", "float8e4m3", "float8e5m2", "float8e4m3fn",
      "signedchar", "unsignedchar", "i8", "u8"}},
    {2, {"float16", "half", "bfloat16", "short", "f16", "bf16", "int16"}},
    {4,
     {"float32", "float", "int32", "uint32", "int", "unsigned", "f32", "i32", "u32", "fp32",
      "integer", "real", "int4"}},
    {8,
     {"float64", "double", "int64", "uint64", "long", "longlong", "f64", "i64", "u64", "longint",
      "unsignedlong", "complex64"}},
}};

}  // namespace

std::span<const LogReader> log_readers() { return reader_rows; }

void read_log(std::string_view text, const std::string& file, JobLog& job) {
  require(!trimmed(text).empty(), file + ": is empty");
  const std::string_view head = text.substr(0, std::size_t{64} << 10);
  const auto knows = [&](const LogReader& one) {
    return one.recognises(one.of_output ? text : head);
  };
  const auto first = std::find_if(reader_rows.begin(), reader_rows.end(), knows);
  if (first == reader_rows.end()) {
    std::vector<std::string_view> names;
    for (const LogReader& one : reader_rows) names.push_back(one.name);
    throw InvalidArgument(
        fmt::format("{}: the log of none of {}; tables of benchmarks are for diagnose", file,
                    fmt::join(names, ", ")));
  }
  for (auto reader = first; reader != reader_rows.end(); ++reader) {
    const bool is_beside = first->of_output && reader->of_output && knows(*reader);
    if (reader != first && !is_beside) continue;
    const std::size_t known = job.communicators.size();
    reader->read(text, file, job);
    for (std::size_t c = known; c < job.communicators.size(); ++c) {
      job.communicators[c].format = reader->name;
    }
    job.formats.emplace(reader->name);
  }
  ++job.files;
}

int rank_in_name(const std::string& file) {
  const std::string name = lower_case(file.substr(file.find_last_of('/') + 1));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_at = [&](std::size_t from, int most) {
    const auto first = name.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = std::find_if_not(first, name.end(), is_digit);
    const std::string_view digits(&*first, static_cast<std::size_t>(last - first));
    return small_integer_in(digits, 0, most).value_or(-1);
  };
  for (std::size_t at = 0; (at = name.find("rank", at)) != name.npos; at += 4) {
    std::size_t from = at + 4;
    if (from < name.size() && std::string_view("_-=.").find(name[from]) != name.npos) ++from;
    if (from < name.size() && is_digit(name[from])) return number_at(from, 1 << 20);
  }
  const std::size_t end = name.find_last_of("0123456789");
  // "resnet_2gpu.json" counts something else.
  const bool counts_things = end + 1 < name.size() && name[end + 1] >= 'a' && name[end + 1] <= 'z';
  if (end == name.npos || counts_things) return -1;
  const std::size_t before = name.find_last_not_of("0123456789", end);
  return number_at(before == name.npos ? 0 : before + 1, 4095);
}

int rank_of_file(const std::string& file, JobLog& job) {
  const int named = rank_in_name(file);
  if (named >= 0) return named;
  job.note_once(
      "files that do not say their rank are counted in the order of their names: what is said of "
      "such a rank is of its file");
  std::set<int> taken;
  for (const JobProcess& process : job.processes) taken.insert(process.rank);
  int rank = 0;
  while (taken.contains(rank)) ++rank;
  return rank;
}

int element_bytes_of(std::string_view type) {
  std::string plain;
  for (const char c : type) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) plain += static_cast<char>(std::tolower(letter));
  }
  for (const std::string_view prefix : {"nccl", "mpi", "torch", "c10"}) {
    if (plain.starts_with(prefix)) plain.erase(0, prefix.size());
  }
  for (const ElementSize& size : element_sizes) {
    const bool known = !plain.empty() &&
                       std::find(size.names.begin(), size.names.end(), plain) != size.names.end();
    if (known) return size.bytes;
  }
  return 0;
}

}  // namespace collbench

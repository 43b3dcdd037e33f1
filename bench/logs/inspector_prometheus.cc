// NCCL Inspector's metrics for Prometheus: means of an unknown number of collectives by GPU and
// range of sizes, with the waiting in them. They bound the network's speed from below and cannot
// tell a late rank.
#include <algorithm>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr std::string_view time_metric = "nccl_collective_exec_time_microseconds{";
constexpr std::int64_t most_in_unit = 1 << 16;

std::string label_of(std::string_view labels, std::string_view name) {
  const std::string start = fmt::format("{}=\"", name);
  std::size_t at = labels.find(start);
  while (at != labels.npos && at > 0 && labels[at - 1] != ',' && labels[at - 1] != '{') {
    at = labels.find(start, at + 1);
  }
  if (at == labels.npos) return {};
  labels.remove_prefix(at + start.size());
  return std::string(labels.substr(0, labels.find('"')));
}

/// "25-26MB": from 25 of 1024 x 1024 bytes on, of which the lower end is taken.
std::int64_t bytes_of_range(const std::string& range) {
  const std::string from = range.substr(0, range.find('-'));
  const std::size_t unit = range.find_last_of("0123456789");
  const std::string units = unit == range.npos ? "" : range.substr(unit + 1);
  const auto number = integer_in(from, 0, most_in_unit);
  if (!number) return 0;
  const int shift = units == "KB" ? 10 : units == "MB" ? 20 : units == "GB" ? 30 : 0;
  return *number << shift;
}

class MetricsReader {
 public:
  explicit MetricsReader(JobLog& job) : job_(job) {}

  void take(std::string_view line) {
    const std::size_t end = line.rfind('}');
    const double value =
        end == line.npos ? 0 : number_in(trimmed(line.substr(end + 1)), 0, 1e15).value_or(0);
    const std::string labels(line.substr(0, std::min(end, line.size())));
    const auto ranks = small_integer_in(label_of(labels, "nranks"), 1, 1 << 20);
    const std::int64_t bytes = bytes_of_range(label_of(labels, "message_size"));
    if (!(value > 0) || !ranks || bytes == 0) {
      ++job_.left_out["metrics of NCCL Inspector without ranks, size or value"];
      return;
    }
    const std::string name = label_of(labels, "comm_name");
    const std::string gpu = label_of(labels, "node") + " " + label_of(labels, "gpu");
    LogRecord record;
    record.communicator = job_.communicator("metrics " + name, name, *ranks);
    JobCommunicator& one = job_.communicators[static_cast<std::size_t>(record.communicator)];
    one.nodes = small_integer_in(label_of(labels, "n_nodes"), 1, *ranks).value_or(0);
    record.process = job_.process(gpu, label_of(labels, "node"));
    // Ranks are not said, and each GPU has a file of its own.
    record.rank = job_.counted_rank(record.communicator, record.process);
    if (record.rank >= *ranks) {
      job_.note_once(fmt::format(
          "more than {} GPUs are in '{}', which has {} ranks: several communicators bear that "
          "name, and their GPUs are not compared",
          *ranks, printable(name), *ranks));
    }
    record.kind = logged_kind(label_of(labels, "collective"));
    record.bytes = bytes;
    record.duration_us = value;
    record.count = 0;
    const std::string choice = label_of(labels, "algo_proto");
    const std::size_t split = choice.rfind('_');  // "NVLS_TREE_SIMPLE"
    if (split != choice.npos) {
      record.algorithm = job_.word(choice.substr(0, split));
      record.protocol = job_.word(choice.substr(split + 1));
    }
    // A range of sizes has a mean for each way that NCCL went in it.
    record.sequence = (bytes * 256 + record.algorithm) * 256 + record.protocol;
    job_.records.push_back(record);
  }

 private:
  JobLog& job_;
};

}  // namespace

void read_inspector_prometheus(std::string_view text, const std::string& /*file*/, JobLog& job) {
  MetricsReader reader(job);
  for (const std::string& line : split_at(text, '\n')) {
    if (line.starts_with(time_metric)) reader.take(line);
  }
  job.note_once(
      "metrics are means with the waiting for others in them, and say no ranks: GPUs are "
      "counted in the order in which they come");
}

}  // namespace collbench

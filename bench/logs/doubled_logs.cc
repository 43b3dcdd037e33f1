// Logs of one run in two formats: Inspector's files beside NCCL_DEBUG's, a profiler's trace beside
// Flight Recorder's dumps. Their collectives are the same and count once.
#include <map>

#include <fmt/format.h>

#include "bench/logs/operations.h"

namespace collbench {
namespace {

struct FormatTally {
  std::map<std::pair<LoggedKind, std::int64_t>, std::int64_t> collectives;  // by kind and bytes
  std::int64_t all = 0;
  std::int64_t timed = 0;
};

std::int64_t in_both(const FormatTally& a, const FormatTally& b) {
  std::int64_t both = 0;
  for (const auto& [key, count] : a.collectives) {
    const auto found = b.collectives.find(key);
    if (found != b.collectives.end()) both += std::min(count, found->second);
  }
  return both;
}

}  // namespace

DoubledLogs doubled_logs(JobLog& job, const std::vector<JobOperation>& operations) {
  std::map<std::string_view, FormatTally> formats;
  for (const JobOperation& operation : operations) {
    const LogRecord& any = operation.any();
    const auto communicator = static_cast<std::size_t>(any.communicator);
    FormatTally& tally = formats[job.communicators[communicator].format];
    tally.collectives[{any.kind, any.bytes}] += operation.weight();
    tally.all += operation.weight();
    tally.timed += operation.last >= 0 ? operation.weight() : 0;
  }
  DoubledLogs doubled;
  for (auto a = formats.begin(); a != formats.end(); ++a) {
    for (auto b = std::next(a); b != formats.end(); ++b) {
      const std::int64_t fewer = std::min(a->second.all, b->second.all);
      if (10 * in_both(a->second, b->second) < 9 * fewer) continue;
      doubled.counts.insert(a->second.all < b->second.all ? a->first : b->first);
      if (a->second.timed > 0 && b->second.timed > 0) {
        doubled.times.insert(a->second.timed < b->second.timed ? a->first : b->first);
      }
      job.note_once(fmt::format("{} and {} have the same collectives: they are counted once",
                                a->first, b->first));
    }
  }
  return doubled;
}

}  // namespace collbench

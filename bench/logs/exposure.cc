#include "bench/logs/exposure.h"

#include <algorithm>
#include <map>

namespace collbench {
namespace {

struct TimeSpan {
  double begin = 0;
  double end = 0;
};

/// Ascending and without overlap.
std::vector<TimeSpan> merged(std::vector<TimeSpan> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
  std::vector<TimeSpan> result;
  for (const TimeSpan& span : spans) {
    if (result.empty() || span.begin > result.back().end) {
      result.push_back(span);
    } else {
      result.back().end = std::max(result.back().end, span.end);
    }
  }
  return result;
}

double total(const std::vector<TimeSpan>& spans) {
  double sum = 0;
  for (const TimeSpan& span : spans) sum += span.end - span.begin;
  return sum;
}

/// The time that is in both.
double shared(const std::vector<TimeSpan>& a, const std::vector<TimeSpan>& b) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    ++(a[i].end < b[j].end ? i : j);
  }
  return sum;
}

}  // namespace

std::vector<Exposure> exposures_of(const JobLog& job, int ranks) {
  std::map<int, std::vector<TimeSpan>> communicating;  // by process
  std::map<int, std::vector<TimeSpan>> computing;
  for (const ComputeSpan& span : job.computing) {
    computing[span.process].push_back({span.start_us, span.start_us + span.duration_us});
  }
  for (const LogRecord& record : job.records) {
    if (!(record.duration_us > 0) || !(record.start_us == record.start_us)) continue;
    communicating[record.process].push_back(
        {record.start_us, record.start_us + record.duration_us});
  }
  std::vector<Exposure> found;
  if (computing.empty()) return found;
  found.resize(static_cast<std::size_t>(std::max(ranks, 0)));
  for (auto& [process, spans] : computing) {
    const int rank = job.processes[static_cast<std::size_t>(process)].rank;
    const auto own = communicating.find(process);
    if (rank < 0 || rank >= ranks || own == communicating.end()) continue;
    const std::vector<TimeSpan> all = merged(own->second);
    Exposure& one = found[static_cast<std::size_t>(rank)];
    one.communication_us = total(all);
    one.exposed_us = one.communication_us - shared(all, merged(std::move(spans)));
  }
  return found;
}

}  // namespace collbench

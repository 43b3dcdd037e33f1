// Records with scripted figures, for the tests of the writers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/records/record.h"
#include "bench/reports/formats.h"

namespace collbench {

/// A record of `algorithm` on shm over `workers` workers whose every sample is `latency_ns`.
inline Record scripted_record(const std::string& algorithm, int workers, Bytes bytes,
                              std::int64_t latency_ns) {
  Record record;
  record.point.algorithm = algorithm;
  record.point.backend = "shm";
  record.point.workers = workers;
  record.point.bytes = bytes;
  record.algorithm_chosen = algorithm;
  record.measurement.latency_ns.assign(20, latency_ns);
  record.measurement.skew_ns.assign(20, 10);
  record.measurement.wrong = 0;
  record.started = "2026-01-02T03:04:05Z";
  return record;
}

inline Environment scripted_environment() {
  return {{"host", "box"},        {"cpu", "Test \"CPU\", 1 GHz"}, {"cores", "4"},
          {"load", "0.50 0.4"},   {"version", "0.1.0"},           {"command", "collbench"},
          {"git_revision", "abc"}};
}

inline std::unique_ptr<Reporter> reporter_of(std::string_view format, std::ostream& out,
                                             const FormatOptions& options = {}) {
  return report_format("format", format).records(out, options);
}

/// What a reporter writes for a whole run.
inline void play(Reporter& reporter, const std::vector<Record>& records,
                 const RunSummary& summary) {
  std::vector<Case> cases;
  for (const Record& record : records) cases.push_back(record.point);
  reporter.begin(scripted_environment(), cases);
  for (const Record& record : records) reporter.record(record);
  reporter.end(summary);
}

}  // namespace collbench

// Records to compare, and their one verdict.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bench/verdicts/compare.h"

namespace collbench {

inline Record simulated(const std::string& algorithm, double time_us, std::int64_t messages) {
  Record record;
  record.point.algorithm = algorithm;
  record.point.backend = "sim";
  record.point.workers = 8;
  record.point.bytes = Bytes{1024};
  record.point.simulated.topology = "star:8";
  record.algorithm_chosen = algorithm;
  Exact exact;
  exact.time = Seconds{time_us * 1e-6};
  exact.messages = messages;
  exact.rounds = 14;
  exact.busiest_link_bytes = 4096;
  record.measurement.exact = exact;
  record.measurement.latency_ns = {static_cast<std::int64_t>(time_us * 1e3)};
  return record;
}

inline Record timed(int workers, std::int64_t latency_ns, const std::string& started) {
  Record record;
  record.point.algorithm = "ring";
  record.point.backend = "shm";
  record.point.workers = workers;
  record.point.bytes = Bytes{1024};
  record.algorithm_chosen = "ring";
  record.measurement.latency_ns = {latency_ns, latency_ns + 1, latency_ns + 2};
  record.measurement.wrong = 0;
  record.started = started;
  return record;
}

inline RecordFile file_of(std::vector<Record> records) {
  return {{{"host", "one"}, {"cpu", "X"}}, std::move(records)};
}

/// `rounds` cycles of one case that differ a little.
inline RecordFile cycles(int rounds, std::int64_t latency_ns, int first_second = 0) {
  RecordFile file = file_of({});
  for (int i = 0; i < rounds; ++i) {
    file.records.push_back(timed(2, latency_ns + (i * 37) % 101,
                                 "2026-11-21T10:00:" + std::to_string(10 + first_second + 2 * i)));
  }
  return file;
}

inline Verdict only(const Comparison& comparison) {
  EXPECT_EQ(comparison.verdicts.size(), 1u);
  return comparison.verdicts.front();
}

}  // namespace collbench

// What the memory of this machine allows for a case: the figure that a measured one is held
// against.
//
// An all-reduce of M bytes over N workers of one machine reads N inputs and writes N outputs,
// however it is done, so it moves at least 2 N M bytes. At the rate B that memory reaches here,
// time >= 2 N M / B, and bus bandwidth <= B (N - 1) / N^2.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "bench/records/case.h"
#include "bench/records/record.h"

namespace collbench {

/// Measures B when it is first needed for a number of threads and a working set, which takes about
/// 0.06 s each, or the time of a case if that is less, and remembers it. Where the case went faster
/// than that, other processes had disturbed the probe: it is repeated, and if need be the rate of
/// the case itself stands for B, since no bound may lie above what was reached. Thread safety: one
/// thread.
class MemoryBounds {
 public:
  explicit MemoryBounds(Seconds case_time) : case_time_(case_time) {}
  /// Nothing below 64 KiB, where latency rules and not memory, nor for a single worker.
  std::optional<Bound> operator()(const Case& point, const Measurement& measured);

 private:
  struct Probe {
    Bandwidth rate;
    int times = 0;
  };
  Seconds case_time_;
  std::map<std::pair<int, std::int64_t>, Probe> probes_;  // by threads and working set in bytes
};

}  // namespace collbench

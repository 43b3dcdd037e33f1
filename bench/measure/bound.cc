#include "bench/measure/bound.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "transports/kernels/memory_limit.h"
#include "transports/waiting.h"

namespace collbench {

using namespace literals;

namespace {

// A probe that other processes disturbed is repeated so often before the case itself is believed.
constexpr int most_probes = 4;
constexpr Seconds longest_probe{0.06};

/// Vectors that all ranks together read or write at least, and how that is written. An all-reduce
/// reads N and writes N; a reduce-scatter and a reduce read N and write one; an all-gather and a
/// broadcast read one and write N, in place one less.
std::pair<int, const char*> vectors_moved(const Case& point) {
  const int n = point.workers;  // those of all groups
  if (point.collective == CollectiveKind::all_reduce) return {2 * n, "2 N M"};
  if (point.in_place && !adds(point.collective)) return {n, "N M"};
  return {n + n / group_size(point), point.groups.empty() ? "(N+1) M" : "(N+groups) M"};
}

}  // namespace

std::optional<Bound> MemoryBounds::operator()(const Case& point, const Measurement& measured) {
  if (point.bytes < 64_KiB || point.workers < 2 || measured.latency_ns.empty()) return {};
  const int threads = std::min(point.workers, usable_cores());
  const Bytes most{std::min((128_MiB).count, available_memory().count / 4)};
  const Bytes working_set = std::min(point.bytes * point.workers, most);
  Probe& probe = probes_[{threads, working_set.count}];
  const auto [vectors, formula] = vectors_moved(point);
  const Bytes moved = point.bytes * vectors;
  const Seconds probe_time = std::min(longest_probe, case_time_);
  const Bandwidth reached = moved / Seconds{summarize(measured.latency_ns).median_ns * 1e-9};
  while (probe.times == 0 || (probe.rate < reached && probe.times < most_probes)) {
    probe.rate = std::max(probe.rate, measure_memory_bandwidth(threads, working_set, probe_time));
    ++probe.times;
  }
  if (probe.rate < reached) {
    return Bound{moved / reached,
                 fmt::format("memory: {} bytes at {}, which this case reached; a plain loop "
                             "reached {}",
                             formula, to_string(reached), to_string(probe.rate))};
  }
  return Bound{moved / probe.rate,
               fmt::format("memory: {} bytes at {} measured here", formula, to_string(probe.rate))};
}

}  // namespace collbench

// What every round of a schedule costs on a machine: the parts that predict() adds up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/schedule.h"
#include "heuristics/predict.h"
#include "topologies/machine.h"

namespace collbench {

// The terms of a time.
struct CostTerms {
  double latency = 0;
  double bandwidth = 0;
  double reduction = 0;

  double sum() const { return latency + bandwidth + reduction; }
  CostTerms operator+(const CostTerms& other) const {
    return {latency + other.latency, bandwidth + other.bandwidth, reduction + other.reduction};
  }
  CostTerms operator*(double factor) const {
    return {latency * factor, bandwidth * factor, reduction * factor};
  }
};

// A message between positions (ranks of a stream), and what its receiver does then: the earliest
// time from its sender's round to the receiver's next.
struct CostEdge {
  int from;
  int to;
  CostTerms cost;
};

// What one round costs.
struct RoundCost {
  std::vector<CostEdge> edges;  // at most one per pair of ranks that follow each other in the list
  std::int64_t messages = 0;
};

// Everything about a workload that rounds have in common.
struct CostSetting {
  CostSetting(const Schedule& schedule_of, const Machine& machine_of, std::span<const Host> hosts,
              const Workload& workload);

  double bytes(Chunks chunks) const {
    if (offsets.empty()) return chunk_bytes * chunks.count;
    return static_cast<double>(offsets[chunks.first + chunks.count] - offsets[chunks.first]);
  }

  int positions() const { return schedule.ranks() * static_cast<int>(streams.size()); }

  // How many rounds rounds[i] stands for.
  int times(std::size_t i) const {
    return (i + 1 < rounds.size() ? rounds[i + 1] : schedule.rounds()) - rounds[i];
  }

  const Schedule& schedule;
  std::span<const Schedule> streams;
  const Machine& machine;
  std::span<const Host> placement;
  const Protocol* protocol = nullptr;
  double chunk_bytes = 0;
  std::vector<std::int64_t> offsets;  // of chunks, in bytes; empty if all are equal
  std::vector<int> rounds;            // to look at: the first of each run
  bool chunks_equated = false;
};

/// Calls `take` with the cost of every one of setting.rounds, in order; computes them on as many
/// threads as are worth it. Returns the link that is busy longest, -1 if none is, and for how long.
std::pair<LinkId, double> for_each_round(
    const CostSetting& setting,
    const std::function<void(std::size_t index, const RoundCost& cost)>& take);

}  // namespace collbench

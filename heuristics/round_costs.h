// What every round of a schedule sends over a machine, and what that costs with a protocol: the
// parts that predict() adds up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/schedule.h"
#include "heuristics/predict.h"
#include "heuristics/route_table.h"
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

// A message between positions (ranks of a track), and what its receiver does then: the earliest
// time from its sender's round to the receiver's next.
struct CostEdge {
  int from = 0;
  int to = 0;
  CostTerms cost;
};

// A message before a protocol is chosen: what the links on its way carry does not depend on it.
struct CostMessage {
  int from = 0;  // position, as in CostEdge
  int to = 0;
  int level = 0;         // of its route
  double bytes = 0;      // of the payload
  double latency = 0;    // of its route, seconds
  double busy = 0;       // the busiest link on its way, seconds for the payloads of its stage
  double reduction = 0;  // of its receiver, seconds
  bool repeats = false;  // not the first of its round between these two
};

// What is sent in one round.
using RoundTraffic = std::vector<CostMessage>;

// Everything about a workload that rounds have in common.
struct CostSetting {
  CostSetting(const Schedule& schedule_of, const Machine& machine_of, std::span<const Host> hosts,
              const VectorSpec& workload);

  double bytes(Chunks chunks) const {
    if (offsets.empty()) return chunk_bytes * chunks.count;
    return static_cast<double>(offsets[chunks.first + chunks.count] - offsets[chunks.first]);
  }

  int positions() const { return schedule.ranks() * static_cast<int>(tracks.size()); }

  // How many rounds rounds[i] stands for.
  int times(std::size_t i) const {
    return (i + 1 < rounds.size() ? rounds[i + 1] : schedule.rounds()) - rounds[i];
  }

  const Schedule& schedule;
  std::span<const Schedule> tracks;
  const Machine& machine;
  std::span<const Host> placement;
  double chunk_bytes = 0;
  std::vector<std::int64_t> offsets;  // of chunks, in bytes; empty if all are equal
  std::vector<int> rounds;            // to look at: the first of each run
};

// A round of which not yet all is known: what is sent at its stages, with it.
struct StagedRound {
  std::size_t index = 0;  // of CostSetting::rounds
  RoundTraffic traffic;
  std::vector<RouteTable::Route> routes;  // of each message, by
  const RouteTable* table = nullptr;
  std::vector<int> stages;  // of each message
};

// What one thread needs to look at rounds, of several schedules one after the other or of one.
struct RoundSpace {
  RoundSpace(const Topology& topology, std::span<const Host> placement, bool for_several = true)
      : table(topology, placement, for_several) {}

  RouteTable table;
  std::vector<StagedRound> waiting;
  std::vector<CostEdge> edges;
};

/// Calls `take` with the traffic of every one of setting.rounds, in order; computes it on as many
/// threads as are worth it, or on this one in `space`, if not null. Returns the link that is
/// busy longest, -1 if none is, and for how long with the payloads of all rounds.
std::pair<LinkId, double> for_each_round(
    const CostSetting& setting, RoundSpace* space,
    const std::function<void(std::size_t index, const RoundTraffic& traffic)>& take);

// What every position sends and receives in a round.
struct RoundMessages {
  struct Some {
    MessageGaps gaps;
    int count = 0;  // most ranks have one, which waits for none
    void add(int level) {
      gaps.add(level);
      ++count;
    }
    double seconds_beyond_one(const Costs& costs, const Protocol* protocol) const {
      return count > 1 ? gaps.beyond_one(costs, protocol).count() : 0;
    }
  };
  std::vector<Some> sent;
  std::vector<Some> received;
};
RoundMessages count_messages(const RoundTraffic& traffic, int positions);

/// Replaces `edges` by what the messages cost with a protocol, which may be null: one edge per pair
/// of positions, as each of its messages is priced with the load of all. `counted` may be empty
/// where messages have no gaps.
void price(const RoundTraffic& traffic, const RoundMessages& counted, const Costs& costs,
           const Protocol* protocol, std::vector<CostEdge>& edges);

}  // namespace collbench

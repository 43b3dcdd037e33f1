// A Program is a schedule bound to a machine: which flows each position starts in each round.
//
// Positions are ranks, or classes of ranks that behave alike (simulator/quotient.cc); the engine in
// simulator/flows.h treats both alike. A flow of a class stands for one flow of every member.
//
// Meaning of a simulated round, the same in every engine: a position enters a round once all flows
// it receives in the round before have arrived and its reductions of that round are paid for,
// reduced bytes / reduction rate after the last arrival. On entering it starts all its sends; the
// sender never waits for them (execute() waits for sends late, and simulated sends are buffered).
// A flow becomes ready when its sender has entered the round (eager), or sender and receiver both
// have (rendezvous). After its latency, and once the flows of earlier rounds along its path have
// arrived, its bytes flow, sharing links max-min fairly, no faster than its cap; when the last byte
// has flowed it has arrived. So latencies of messages from one position to another overlap, and
// their bytes follow each other.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "topologies/topology.h"

namespace collbench {

/// A path of flows through the network. `uses` counts how often one flow of every member of the
/// sending class crosses the link (of its class): 1 for plain ranks, or the share of a message that
/// takes the link where messages are spread over several ways.
struct LinkPath {
  struct Use {
    LinkId link;
    double uses;
  };
  std::vector<Use> links;
  Seconds latency{0};  // of the route, without what depends on the size of a message
  int level = 0;
};

/// One flow that a position starts. Sizes are payload; latency, wire size and cap are resolved.
struct Flow {
  std::int32_t to = 0;    // receiving position
  std::int32_t path = 0;  // index into paths()
  double wire_bytes = 0;
  Seconds latency{0};  // of the route and of the message
  double cap = 0;      // bytes per second; 0: none
  double bytes = 0;    // payload
};

/// What one position does in one round; reuse one object over a loop.
struct Turn {
  std::vector<Flow> sends;
  int arrivals = 0;      // distinct flows that must arrive before the next round
  Seconds reduction{0};  // paid after the last of them, with gaps of messages
  void clear() {
    sends.clear();
    arrivals = 0;
    reduction = Seconds{0};
  }
};

/// Thread safety: a program belongs to one thread; it may cache what it computes.
class Program {
 public:
  virtual ~Program() = default;
  virtual int positions() const = 0;
  virtual int rounds() const = 0;
  /// Links as the engine sees them: ids 0 .. capacities().size() - 1, in bytes per second.
  virtual const std::vector<double>& capacities() const = 0;
  /// Paths that turns refer to; grows while turns are computed, and never changes otherwise.
  virtual const std::vector<LinkPath>& paths() const = 0;
  /// Replaces `out` by what `position` does in `round`.
  virtual void turn(int position, int round, Turn& out) = 0;
  /// When the position enters round 0.
  virtual Seconds start(int position) const = 0;
  /// Rounds with equal patterns have equal turns of every position: at least equal rounds have.
  virtual std::int64_t pattern(int round) const = 0;
};

}  // namespace collbench

// Plays a Program: flows share links max-min fairly, in simulated time, without actors.
//
// Progressive filling (Bertsekas, Gallager: Data Networks, section 6.5.2): all rates rise together,
// and a flow stops rising at its own limit or when a link it crosses is full, where a flow counts
// as often as its path says. The allocation is unique, and only changes among flows that are joined
// by links that can be full: those alone are solved again when a flow starts or ends. A flow
// runs at its own limit, without solving, if its links cannot be full even with all their flows at
// their limits.
//
// Events come in the order of (time, sequence); those within 4 units in the last place of the
// earliest are one moment. Memory grows with positions, links, paths and flows in flight.
#pragma once

#include <cstdint>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "simulator/program.h"
#include "simulator/simulate.h"

namespace collbench {

/// A position waits for flows that no position sends, or gets one that it does not wait for.
class UnmatchedFlows : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

class FairShare;

/// Is notified when positions enter rounds; may end the play, or remove rounds from the program
/// that no position has entered yet.
class RoundWatch {
 public:
  virtual ~RoundWatch() = default;
  /// The play begins; `links` live as long as it does.
  virtual void begins(const FairShare& /*links*/) {}
  /// `position` enters `round`, or ends if `round` is rounds(). In order of time; false ends all.
  virtual bool enters(int position, int round, Seconds time) = 0;
};

struct FlowOptions {
  Posting posting = Posting::eager;
  bool link_use = false;         // fill FlowReport::links
  bool round_end = false;        // fill FlowReport::round_end
  std::int64_t trace_limit = 0;  // transfers to keep, the first to arrive
  RoundWatch* watch = nullptr;   // null: none
};

struct FlowReport {
  std::vector<Seconds> end;         // by position: when it leaves its last round
  std::vector<Seconds> round_end;   // by round: when the last position leaves it
  std::vector<LinkUse> links;       // by link
  std::vector<Transfer> transfers;  // ranks are positions
  std::int64_t flows = 0;           // that arrived
  bool stopped = false;             // by the watch; then `end` has only the positions that ended
};

/// Plays all rounds. Reentrant. Throws UnmatchedFlows, and InvalidArgument if the flows in flight
/// would not fit into memory.
FlowReport play(Program& program, const FlowOptions& options);

}  // namespace collbench

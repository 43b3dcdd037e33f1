// What the ranks of one host do when they play a schedule: how much falls on the busiest of the
// cores that they share, round by round, or in one pass where shared memory fuses the rounds.
//
// Rank r is on core r mod cores, as pinned ranks are. Bytes are shares of the vector of one rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

/// Of the ranks of one core, in one round.
struct CoreWork {
  double sends = 0;  // messages
  double receipts = 0;
  double sent = 0;      // bytes, and so below
  double stored = 0;    // copied from messages
  double reduced = 0;   // added to what is there
  double snapshot = 0;  // copied before they are sent, since the same round writes over them
  bool operator==(const CoreWork&) const = default;
};

/// Rounds that are alike.
struct HostRound {
  double count = 1;
  double active = 0;            // ranks that send or receive
  std::vector<CoreWork> cores;  // that differ
};

struct HostWork {
  int meetings = 0;      // of all ranks, where the schedule is one pass (algorithms/fusion.h); or 0
  double pass = 0;       // bytes of that pass, read and written, that fall on the busiest core
  double footprint = 1;  // bytes that the ranks touch, over their vectors
  std::vector<HostRound> rounds;
};

/// Requires at least 2 ranks and 1 core. `fuses`: whether peers' memory is addressable.
HostWork host_work(const Schedule& schedule, int cores, Bytes bytes, bool fuses);

/// The same for an algorithm of the registry, remembered: a fit asks for the same ones hundreds of
/// times. Throws as make_schedule(). Thread safety: may run on any number of threads.
std::shared_ptr<const HostWork> known_host_work(const std::string& algorithm, int ranks, int cores,
                                                Bytes bytes, bool fuses);

}  // namespace collbench

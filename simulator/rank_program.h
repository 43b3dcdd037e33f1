// The Program of a scenario whose positions are its ranks, once for each track of its schedule:
// position p is rank p % ranks() in track p / ranks(). Tracks of one rank share its links and, in
// equal parts, its rate of reduction, and nothing else.
//
// Sizes, routes and costs are resolved here once: chunk boundaries are a table, and a route is
// found when a pair of ranks first talks. Empty messages do not exist, as execute() never sends
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/program.h"
#include "simulator/simulate.h"

namespace collbench {

class RankProgram : public Program {
 public:
  /// What is wrong between the sends and receives of all turns computed so far: nothing if every
  /// send met a receive of the same chunks in the same round. Constant time; a false "true" has
  /// probability 2^-64.
  virtual bool matched() const = 0;

  int ranks() const { return ranks_; }
  int tracks() const { return positions() / ranks_; }
  /// When `rank` has ended all its tracks, by the ends of all positions.
  Seconds end_of(int rank, const std::vector<Seconds>& position_end) const;

 protected:
  explicit RankProgram(int ranks) : ranks_(ranks) {}

 private:
  int ranks_;
};

/// From the first start to the last end, the machine's cost of a collective included, which is
/// added to every rank's end: position ends become rank ends, and positions of transfers ranks.
void set_times(const RankProgram& program, const std::vector<Seconds>& position_end,
               const Scenario& scenario, Outcome& outcome);

/// What track `track` of a schedule plays; the schedule itself if it has no others.
const Schedule& track_of(const Schedule& schedule, int track);

/// The scenario must outlive the program. Throws InvalidArgument as check() does, and in turn() as
/// resolve() does.
std::unique_ptr<RankProgram> rank_program(const Scenario& scenario);

/// Throws InvalidArgument, naming the first of them, if a send or receive of the turns computed so
/// far has no partner.
void require_matched(const RankProgram& program, const Schedule& schedule);

/// The first send or receive of the schedule without a partner, as text; empty if all have one.
/// Takes the time of all operations.
std::string first_mismatch(const Schedule& schedule);

}  // namespace collbench

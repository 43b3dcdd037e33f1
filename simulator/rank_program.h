// The Program of a scenario whose positions are its ranks.
//
// Sizes, routes and costs are resolved here once: chunk boundaries are a table, and a route is
// found when a pair of ranks first talks. Empty messages do not exist, as execute() never sends
// them; the mark of the own term in a fold is none either.
#pragma once

#include <memory>
#include <string>

#include "simulator/program.h"
#include "simulator/simulate.h"

namespace collbench {

class RankProgram : public Program {
 public:
  /// What is wrong between the sends and receives of all turns computed so far: nothing if every
  /// send met a receive of the same chunks in the same round. Constant time; a false "true" has
  /// probability 2^-64.
  virtual bool matched() const = 0;
};

/// The scenario must outlive the program. Throws InvalidArgument as check() does, and in turn() for
/// an operation that names a rank or chunks that do not exist.
std::unique_ptr<RankProgram> rank_program(const Scenario& scenario);

/// The first send or receive of the schedule that has no partner, in words; empty if all have one.
/// Takes the time of all operations.
std::string first_mismatch(const Schedule& schedule);

}  // namespace collbench

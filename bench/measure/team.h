// A Team is a set of workers of one back end that stays alive over many cases.
//
// Each back end (shm threads, shm processes, grpc, gloo, mpi) is one row in teams(): how to make
// the workers and what to call each rank's Communicator. Idle teams sleep, so teams of several back
// ends can be measured interleaved in one run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/records/case.h"
#include "bench/records/record.h"

namespace collbench {

/// Thread safety: a team belongs to one thread.
class Team {
 public:
  virtual ~Team() = default;  // ends the workers; no process, file or segment is left behind
  /// Measures one case on all workers. Throws TransportError, naming the rank, if one is lost,
  /// stuck or disagrees (the team is then unusable), Unavailable if the back end cannot do the
  /// case.
  virtual Measurement measure(const Case& which, const Sampling& sampling) = 0;
};

/// One row per back end.
struct TeamInfo {
  std::string name;         // "shm"
  std::string summary;      // one line
  std::string unavailable;  // why it cannot be used here; empty if it can
};
std::vector<TeamInfo> team_infos();

/// Starts `which.workers` workers for the back end, isolation and transport of `which`.
/// Throws Unavailable with the reason, or InvalidArgument with what would be possible.
std::unique_ptr<Team> make_team(const Case& which, const Sampling& sampling);

}  // namespace collbench

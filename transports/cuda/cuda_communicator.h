// Communicators of ranks on the GPUs of one process: our schedules by a CudaWorld.
//
// Each rank has its communicator and its thread. For a collective the ranks meet on the host, the
// last to arrive starts the work for all, and all return when it is done. Regions are memory of the
// rank's device; or all of them are host memory, and the host does the work.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transports/communicator.h"
#include "transports/cuda/call_meeting.h"
#include "transports/cuda/cuda_call.h"
#include "transports/cuda/cuda_world.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

/// The state that the ranks share. Thread safety: made by one thread, then used by the
/// communicators only.
class CudaGroup {
 public:
  /// `name` is that of the schedule, for descriptions. Throws Unavailable as CudaWorld does.
  CudaGroup(const CudaWorldOptions& options, PlayedSchedules played, const std::string& name);

  /// Returns when all ranks have called and the collective is done. Throws as CallMeeting.
  void meet(Rank rank, const CudaCall& call, Region in, Region out);
  /// As CallMeeting.
  void abort(const std::string& why) { meeting_.abort(why); }
  const CudaWorldOptions& options() const { return world_.options(); }
  std::string description() const;

 private:
  void perform();

  CudaWorld world_;
  CudaSchedules schedules_;
  std::string name_;
  std::vector<CudaCall> calls_;                    // by rank
  std::vector<std::pair<Region, Region>> visits_;  // by rank
  CallMeeting meeting_;
};

/// The communicator of one rank. A call fails on all ranks if one fails or has another count, type
/// or operator; a rank that does not arrive within the timeout is named.
std::unique_ptr<Communicator> make_cuda_communicator(std::shared_ptr<CudaGroup> group, Rank rank);

}  // namespace collbench

// Communicators of ranks on the GPUs of one process: our schedules by a CudaWorld.
//
// Each rank has its communicator and its thread. For a collective the ranks meet on the host, the
// last to arrive starts the work for all, and all return when it is done. Regions are memory of the
// rank's device; or all of them are host memory, and the host does the work.
#pragma once

#include <memory>
#include <string>

#include "transports/communicator.h"
#include "transports/cuda/cuda_world.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

/// The state that the ranks share. Thread safety: made by one thread, then used by the
/// communicators only.
class CudaGroup {
 public:
  /// `name` is that of the schedule, for descriptions. Throws Unavailable as CudaWorld does.
  CudaGroup(const CudaWorldOptions& options, ScheduleChoice choice, std::string name);
  ~CudaGroup();
  CudaGroup(const CudaGroup&) = delete;
  CudaGroup& operator=(const CudaGroup&) = delete;

  /// Ends all waits, now and later, with TransportError(why).
  void abort(const std::string& why);
  const CudaWorldOptions& options() const;

 private:
  friend class CudaCommunicator;
  class Bootstrap;
  std::unique_ptr<Bootstrap> bootstrap_;
};

/// The communicator of one rank. A call fails on all ranks if one fails or has another count, type
/// or operator; a rank that does not arrive within the timeout is named.
std::unique_ptr<Communicator> make_cuda_communicator(std::shared_ptr<CudaGroup> group, Rank rank);

}  // namespace collbench

// The ranks of one NCCL communicator as threads of this process, each with a GPU of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "transports/nccl/nccl_communicator.h"

namespace collbench {

/// Thread safety: any number of threads.
class NcclGroup {
 public:
  /// `spec` is "nccl" with options, as parse_nccl_settings() reads them. Sets NCCL's variables and
  /// loads it. Throws InvalidArgument for options that it cannot read or that another
  /// communicator of this process has contradicted, Unavailable without NCCL, or with fewer
  /// GPUs than ranks: NCCL takes one rank on each.
  NcclGroup(int ranks, const std::string& spec, Seconds timeout);

  /// Rank r's communicator, on GPU r; called by all ranks at once, each on its thread.
  std::unique_ptr<Communicator> join(Rank rank) const;
  /// Ends all waiting of the communicators, now and later. They may outlive the group.
  void abort();

 private:
  NcclOptions options_;
  std::shared_ptr<std::atomic<bool>> aborted_;
};

}  // namespace collbench

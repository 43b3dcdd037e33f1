// Schedules as JSON execution plans of MSCCL++, which its executor plays on GPUs.
//
// Every thread block of a plan has chunks of its own and does all that its GPU does with them, in
// the order of rounds; so no block waits for another of the same GPU. A message is put into a slot
// of the receiver's scratch buffer that serves nothing else, and is then added or copied from
// there: nothing is overwritten that is still read. A block first exchanges signals with
// all its peers, so that none writes into what their last play still reads.
// Source: microsoft/mscclpp, src/core/executor/execution_plan.cc and execution_kernel.hpp, whose
// limits are those below.
#pragma once

#include <functional>
#include <string>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"

namespace collbench {

/// Whether a GPU writes into another's memory (NVLink). Pairs that do not both do so go through a
/// port (InfiniBand).
using ShareMemory = std::function<bool(Rank a, Rank b)>;

/// An all-reduce, reduce-scatter or all-gather in place, whose chunks are all of one size there:
/// sizes have to be multiples of 16 bytes times the chunks. Throws InvalidArgument for a collective
/// with a root, and where 64 blocks of 64 operations and 16 peers each are not enough.
std::string to_mscclpp_json(const Schedule& schedule, CollectiveKind kind,
                            const ShareMemory& share_memory);

}  // namespace collbench

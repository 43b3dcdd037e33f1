// Which schedule sums the gradients of one bucket.
#pragma once

#include <string>
#include <string_view>

#include "transports/play/schedule_communicator.h"

namespace collbench {

/// `algorithm` is a name of the registry, or "auto": what heuristics/policies/choose.h picks for
/// each size on `back_end` ("shm", "grpc") with that many cores, among the algorithms that keep
/// replicas equal. The answer is the same on all ranks that pass equal arguments. Throws
/// InvalidArgument as make_schedule() does, and for an algorithm that may round differently on
/// different ranks.
ScheduleChoice gradient_schedule(const std::string& algorithm, std::string_view back_end, int ranks,
                                 int cores);

/// TensorFlow's ReductionToOneDevice: rank 0 folds what all send, in the order of ranks, and the
/// others keep what they have. No all-reduce.
Schedule reduce_to_one(int ranks);

}  // namespace collbench

// What NCCL or RCCL would play of a case on a simulated machine: its tuner's choice and the time of
// that (heuristics/nccl/library_times.h), which is no schedule of messages.
//
// The names are those of NCCL's algorithms: "nccl" is its own choice, "nccl:ring", "nccl:tree",
// "nccl:nvls", "nccl:nvls-tree" force one, and "nvls-tree" is the last of them, which nothing but
// NCCL has.
#pragma once

#include <string>

#include "bench/measure/team.h"
#include "topologies/machine.h"

namespace collbench {

bool is_library_case(const std::string& algorithm);

/// Requires is_library_case(). Throws InvalidArgument for another collective, an unknown name or
/// protocol, and what NCCL does not have there.
Measurement measure_library_case(const Case& point, const Machine& machine);

}  // namespace collbench

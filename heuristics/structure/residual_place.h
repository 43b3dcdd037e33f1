// Where a measured time lies among the residuals: which names are one method there.
//
// Names that play the same rounds at a size deviate alike, whatever they are called: Open MPI's
// choice and the algorithm that it took, a segmented algorithm whose messages are shorter than a
// segment and the one without, a ring of fewer elements than ranks and the doubling that stands in.
#pragma once

#include "heuristics/structure/carried_residuals.h"

namespace collbench {

VectorWork work_of(const MethodKey& method);

/// `named` is what the method's name says, `played` what it is at this size. Requires bytes >= 1.
ResidualPlace residual_place(const PlayedMethod& named, const PlayedMethod& played,
                             const MethodKey& method, const Scale& scale, double bytes);

}  // namespace collbench

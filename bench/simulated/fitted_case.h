// The prediction for a case by the fit in a file of `calibrate`, as `validate` and `select` use it.
//
// The plain machine in such a file is a star of links. It knows no axes of a torus, no taper, no
// cores that ranks share: where the fit knows what an algorithm plays, it is the better answer.
#pragma once

#include <optional>
#include <string>

#include "bench/measure/team.h"
#include "heuristics/calibration/calibration.h"
#include "topologies/machine.h"

namespace collbench {

/// Nothing, with the reason in `why_not`, for what the fit does not know and for what only messages
/// can show: links, disturbances, mappings, another engine than `auto` and `model`.
std::optional<Measurement> measure_fitted_case(const Case& point, const Calibration& calibration,
                                               const Machine& machine, std::string& why_not);

}  // namespace collbench

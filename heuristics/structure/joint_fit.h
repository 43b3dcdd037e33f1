// The constants of a network, fitted to all methods and sizes measured on it at once (robust_fit.h,
// with errors beyond 10 % counted linearly).
#pragma once

#include <span>
#include <vector>

#include "heuristics/structure/network_model.h"
#include "heuristics/structure/robust_fit.h"

namespace collbench {

/// One measured time of a form that is no choice.
struct PlayedRow {
  PlayedMethod played;
  Scale scale;
  double bytes = 0;
  double log_microseconds = 0;
  double weight = 1;
};

/// An entry for each constant of the model, in its unit. `start` are values to begin at, the priors
/// if empty. Throws InvalidArgument if times or sizes are no numbers above 0.
std::vector<FittedConstant> fit_constants(const NetworkModel& model,
                                          std::span<const PlayedRow> rows,
                                          std::span<const FittedConstant> start = {});

/// Natural logarithm of the microseconds that the constants give.
double log_microseconds(const NetworkModel& model, std::span<const FittedConstant> constants,
                        const PlayedMethod& played, const Scale& scale, double bytes);

}  // namespace collbench

// The constants of a network, fitted to all methods and sizes measured on it at once.
//
// Minimised over theta, the logarithms of the constants, by Levenberg-Marquardt from the priors:
//
//   sum over rows of weight * rho((ln(predicted) - ln(measured)) / 0.1)
//     + sum over constants of ((theta - ln prior) / deviation)^2,     rho(z) = 2 (sqrt(1 + z^2) -
//     1)
//
// so that errors count relatively, a disturbed curve bends little, and what the rows leave open
// stays at its prior.
#pragma once

#include <span>
#include <vector>

#include "heuristics/structure/network_model.h"

namespace collbench {

/// One measured time of a form that is no choice.
struct PlayedRow {
  PlayedMethod played;
  Scale scale;
  double bytes = 0;
  double log_microseconds = 0;
  double weight = 1;
};

struct FittedConstant {
  double value = 0;   // in the unit of its NetworkConstant
  double factor = 1;  // may be so many times larger or smaller (one standard deviation)
};

/// An entry for each constant of the model. `start` are values to begin at, the priors if empty.
/// Throws InvalidArgument if times or sizes are no numbers above 0.
std::vector<FittedConstant> fit_constants(const NetworkModel& model,
                                          std::span<const PlayedRow> rows,
                                          std::span<const FittedConstant> start = {});

/// Natural logarithm of the microseconds that the constants give.
double log_microseconds(const NetworkModel& model, std::span<const FittedConstant> constants,
                        const PlayedMethod& played, const Scale& scale, double bytes);

}  // namespace collbench

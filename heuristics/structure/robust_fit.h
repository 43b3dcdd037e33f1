// Positive constants fitted to times whose errors count relatively.
//
// Minimised over theta, the logarithms of the constants, by Levenberg-Marquardt from the priors:
//
//   sum over rows of weight * rho(ln(predicted / measured) / scale)
//     + sum over constants of ((theta - ln prior) / deviation)^2
//
// with rho(z) = 2 (sqrt(1 + z^2) - 1), so that a disturbed curve bends little, and what the rows
// leave open stays at its prior.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace collbench {

struct ConstantPrior {
  double value;      // above 0
  double deviation;  // standard, of its natural logarithm
};

struct FittedConstant {
  double value = 0;   // in the unit of its prior
  double factor = 1;  // may be so many times larger or smaller (one standard deviation)
};

/// Writes ln(predicted / measured) of every row, as the constants predict it.
using LogErrors = std::function<void(std::span<const double> values, std::span<double> errors)>;

/// An entry for each prior. `weights` has an entry for each row; errors beyond `scale` count
/// linearly. `start` are values to begin at, the priors if empty. Throws InvalidArgument if errors
/// are no numbers there.
std::vector<FittedConstant> fit_robustly(std::span<const ConstantPrior> priors,
                                         std::span<const double> weights, const LogErrors& errors,
                                         double scale, std::span<const FittedConstant> start = {});

}  // namespace collbench

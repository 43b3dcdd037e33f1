// How far measured curves of healthy systems lie from their prediction, as a distribution, so that
// a difference can be called a fault or not.
//
// The error of ln(time) along the sizes is Gaussian, of four parts: a factor that all small sizes
// share (starts and hops that differ from the constants), one that all large sizes share (the rate
// that is reached), a smooth local part, large between the two where the library switches
// protocols, and noise of each row. Either shared factor has a second, wide component, for systems
// unlike those that the constants were fitted to. A row that lies farther from its neighbours than
// the parts allow, a protocol's cliff or a cold start, counts as one deviation and not by its
// square.
#pragma once

#include <span>

namespace collbench {

/// Standard deviations of ln(time).
struct ModelError {
  double latency = 0.12;
  double latency_wide = 0.6;
  double rate = 0.08;
  double rate_wide = 0.25;
  double wide_share = 0.15;    // of either wide component
  double local_ends = 0.05;    // at small and large sizes
  double local_middle = 0.25;  // between them
  double reach = 1.5;          // doublings of the size over which local errors are alike
  double noise = 0.04;
};

/// One difference of a curve: ln(measured / predicted) at log2(bytes).
struct Deviation {
  double log2_bytes = 0;
  double log_ratio = 0;
};

/// ln of the density of such a curve if the prediction is right but for the error. Sizes are
/// ascending and distinct. O(rows^3).
double log_likelihood(const ModelError& error, std::span<const Deviation> curve);

/// The factor of the predicted time below which `share` of healthy measurements lie at that size.
double error_quantile(const ModelError& error, double log2_bytes, double share);

}  // namespace collbench

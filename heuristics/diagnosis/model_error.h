// How far measured curves of healthy systems lie from their prediction, as a distribution, so that
// a difference can be called a fault or not.
//
// The error of ln(time) along the sizes is Gaussian, of four parts: a factor of the latency (starts
// and hops that differ from the constants), which counts as far as latency makes up the time; one
// of the rate that large sizes reach; a smooth local part, large between the two where the library
// switches protocols; and noise of each row. Either shared factor has a second, wide component, for
// systems unlike those that the constants were fitted to. A row that lies farther from its
// neighbours than the parts allow, a protocol's cliff or a cold start, counts as one deviation and
// not by its square.
#pragma once

#include <span>

#include "core/units.h"

namespace collbench {

/// Standard deviations of ln(time).
struct ModelError {
  double latency = 0.075;
  double latency_wide = 0.55;
  double rate = 0.045;
  double rate_wide = 0.25;
  double wide_share = 0.13;     // of either wide component
  double local_ends = 0.08;     // at small and large sizes
  double local_middle = 0.215;  // between them
  double reach = 1.4;           // doublings of the size over which local errors are alike
  double noise = 0.03;
  double trust = 0.85;  // power of the density: the form of the errors is known roughly only
};

/// For a library of which nothing but the network below it is known: what a good choice among our
/// schedules takes there is off by tens of percent, by a factor two where it is latency.
ModelError error_of_unknown_library();

/// Where expected is what the same system took when it was well: it differs by its runs, and the
/// strengths of suspicions, which are a seventh apart, from that of a fault.
ModelError error_of_known_system();

/// For GPUs or networks of which no two systems were fitted: as much wider as the interval of
/// library_times.cc is for them, about twice.
ModelError of_unlike_system(ModelError error);

/// Of a fault that nothing foretells, on a system whose healthy times are off by `error`: rates and
/// latencies change by factors, and where between the two is open.
ModelError error_of_unexplained(ModelError error);

/// Where the latency of a system is its own, and not what the constants say: by how much one causes
/// adds to it is not known then.
ModelError with_own_latency(ModelError error);

/// One difference of a curve: ln(measured / predicted).
struct Deviation {
  double log2_bytes = 0;
  double latency_share = 0;  // of the predicted time that is latency, 0 to 1
  double log_ratio = 0;
};

/// Without its wide component of the rate: for predictions of a fault, whose strengths are a range
/// already, and which no system unlike others would hide.
ModelError with_known_rate(ModelError error);

/// ln of the density of such a curve if the prediction is right but for the error. Sizes are
/// ascending and distinct. O(rows^3).
double log_likelihood(const ModelError& error, std::span<const Deviation> curve);

/// ln of how likely the steps of ln(time) between sizes are where nothing is at fault, against
/// those of an even curve: a library takes the fastest of what it has, so its time neither falls
/// with the size nor grows faster than in proportion to it. Of 574 steps of 23 healthy tables 12 do
/// by more than 12 %, 9 of them of one system.
double log_of_steps(std::span<const Bytes> sizes, std::span<const double> log_times);

/// The share of healthy measurements whose ln(measured / predicted) is below `log_ratio` at the
/// size of `at`, whose own ratio does not count.
double chance_below(const ModelError& error, const Deviation& at, double log_ratio);

/// The factor of the predicted time below which `share` of healthy measurements lie at the size of
/// `at`, whose ratio does not count.
double error_quantile(const ModelError& error, const Deviation& at, double share);

}  // namespace collbench

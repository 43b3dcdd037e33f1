// What joins ranks, priced: the few constants that all methods on one system share, and the time of
// any played method with them.
//
// The dependence on ranks and bytes comes from the rounds of the schedules, never from a fitted
// exponent: one or two scales cannot identify exponents. Constants are positive. Each has a prior,
// by technology, and how many times it may be off; the priors decide what the measured scales leave
// open (only sums of some are known, see the sources of the constants).
#pragma once

#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "heuristics/structure/played_method.h"

namespace collbench {

struct NetworkConstant {
  std::string_view name;     // as files have it
  std::string_view unit;     // "us", "us/B", "1"
  double prior;              // in that unit
  double deviation;          // standard, of its natural logarithm
  std::string_view meaning;  // one line
  double data_sheet = 0;     // in that unit, what the hardware can do at best; 0: not known
};

/// Which constants are those of a plain machine, by name; empty: none is.
struct PlainConstants {
  std::string_view overhead;  // of a collective
  std::string_view latency;   // of a message between nodes
  std::string_view byte;
  std::string_view reduce;
  std::string_view inside_latency = {};  // of a message inside a node
  std::string_view inside_byte = {};
};

struct NetworkModel {
  Interconnect interconnect;
  std::string_view name;  // "switched"
  std::span<const NetworkConstant> constants;
  /// Microseconds of a form of this network that is no choice of others (played_for() is applied
  /// inside, library_choice is refused by assertion). `values` has an entry for each constant.
  double (*microseconds)(const PlayedMethod& played, const Scale& scale, double bytes,
                         std::span<const double> values);
  double
      per_doubling;    // what ln(time) deviates by for each doubling of the nodes beyond known ones
  double size_length;  // doublings of size over which deviations stay alike
  PlainConstants plain;
  double noise = 0.05;  // of ln(time) from one batch of measurements to the next
};

/// From 0 far below `at` over 1/2 there to 1, the more suddenly the higher the power.
inline double saturation(double x, double at, int power) {
  const double scaled = std::pow(x / at, power);
  return scaled / (1 + scaled);
}

const NetworkModel& network_model(Interconnect interconnect);
/// By its name; null for another.
const NetworkModel* find_network_model(std::string_view name);
std::vector<std::string_view> network_model_names();

// The rows of the table, one file each.
NetworkModel switched_network();
NetworkModel torus_network();
NetworkModel gpu_network();
NetworkModel host_memory();
NetworkModel host_messages();
NetworkModel host_library();
NetworkModel host_busy_library();

}  // namespace collbench

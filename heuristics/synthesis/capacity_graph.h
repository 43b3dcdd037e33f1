// A topology as what bounds see of it: vertices and directed arcs with whole numbers as capacities.
//
// Rates are taken as whole bytes per second, which decimals of GB/s with up to nine places are
// (beyond 2^53, 9 million GB/s, the nearest that a double holds), and divided by their greatest
// common divisor; so cuts are summed and compared without rounding. Vertices keep their numbers:
// those below `ranks` hold data, the others forward and neither copy nor add. Parallel links are
// one arc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/topology.h"

namespace collbench {

/// Wide enough for products of two 64-bit numbers.
__extension__ typedef __int128 WideInteger;

struct CapacityArc {
  Vertex from = 0;
  Vertex to = 0;
  std::int64_t capacity = 0;  // in units
};

struct CapacityGraph {
  int ranks = 0;
  int vertices = 0;
  std::int64_t unit = 1;          // bytes per second
  std::vector<CapacityArc> arcs;  // sorted by ends

  /// The same with every arc turned round.
  CapacityGraph reversed() const;
  /// Whether every arc has a partner of its capacity in the other direction.
  bool is_bidirectional() const;
  std::int64_t sum_of_capacities() const;
  /// Whether the sum of all capacities, `times` over for each rank, is below 2^62.
  bool fits_words(int times = 1) const;
  /// What enters these groups, which are disjoint, from outside of each.
  WideInteger entering(const std::vector<std::vector<Vertex>>& groups) const;
};

/// All hosts of the topology are ranks. Throws InvalidArgument for a link slower than one byte per
/// second, and if the rates of all links add up to more than 2^62 bytes per second.
CapacityGraph capacity_graph(const Topology& topology);

/// A non-negative rational number in lowest terms. "7/2400", "3".
struct Fraction {
  WideInteger numerator = 0;
  WideInteger denominator = 1;
  double value() const;
};
Fraction reduced(WideInteger numerator, WideInteger denominator);
std::string to_string(const Fraction& fraction);

}  // namespace collbench

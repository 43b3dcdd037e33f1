// What the constants of a network leave unexplained, carried to other sizes and scales: first by
// families of forms, then by methods, the less the farther.
//
//   family(x) = sum w y / (sum w + 1)    over the points of the family
//   method(x) = sum w (y - family) / (sum w + 0.3)    over the points of the method
//   w = trust * exp(-|log2 n - log2 n_i| / length - |log2 p - log2 p_i| / 3 - |P - P_i| / 3)
//
// y are logarithms of measured over predicted times, n bytes, p nodes (ranks on one host), P ports
// of a torus. Points of another build of the library have a trust of 0.3, of another name for the
// same method 0.5; ranks that share cores and ranks that do not of 0.05 in each other, and so have
// other types, operators and protocols, and in place and out of place.
//
// Between two sizes that were measured at the very scale (of a torus: its very axes), y is on the
// line between theirs over log2 n, so that a measured point stays what was measured; outside them
// that fades with w.
#pragma once

#include <string>
#include <vector>

#include "heuristics/structure/played_method.h"

namespace collbench {

/// What a method was asked to do with the vectors: sums of another type take other times.
struct VectorWork {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = false;
  std::string protocol;
  auto operator<=>(const VectorWork&) const = default;
};

struct ResidualPlace {
  PlayedFamily family = PlayedFamily::ring;
  std::string method;   // names that play alike have one: "BINE-L-UTOFU-0"
  std::string name;     // as the library has it
  std::string library;  // its build
  VectorWork work;
  double size = 0;        // log2 of bytes
  double nodes = 0;       // log2 of Scale::extent()
  double each = 0;        // log2 of the ranks of a node, 0 on one host
  std::vector<int> axes;  // of a torus
  double ports = 1;
  bool crowded = false;  // several ranks share a core
};

/// Immutable. Thread safety: const members may run on any number of threads.
class CarriedResiduals {
 public:
  CarriedResiduals() = default;
  /// Requires vectors of one length. `size_length` are doublings.
  CarriedResiduals(std::vector<ResidualPlace> places, std::vector<double> deviations,
                   double size_length);

  /// Expected logarithm of measured over predicted time.
  double at(const ResidualPlace& place) const;

 private:
  double weight(const ResidualPlace& a, const ResidualPlace& b) const;
  double of_family(const ResidualPlace& place) const;

  /// What the own points of the same scale say, and how much of it counts.
  struct OwnScale {
    double share = 0;
    double deviation = 0;
  };
  OwnScale at_own_scale(const ResidualPlace& place) const;

  std::vector<ResidualPlace> places_;
  std::vector<double> deviations_;
  std::vector<double> beyond_family_;
  double size_length_ = 1;
};

}  // namespace collbench

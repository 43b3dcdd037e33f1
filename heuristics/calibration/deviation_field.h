// Deviations of measured times from their trend, carried to other sizes and scales as far as they
// correlate: a Gaussian process (kriging) over log2 of size, nodes and ranks per node.
//
// Correlation falls with the distance on each axis. A scale whose times contradict those of all
// other scales, over many sizes and by more than the others let expect, was measured under
// conditions of its own (a job placed badly, a disturbed network): its own deviations stay
// with it and are not carried to other scales, so that one bad run in five does not dominate the
// predictions of its neighbours.
//
// What neighbouring sizes do not share is noise: at least 8 % of the spread, and where sizes are
// dense as much as they show (noise_of()), so that they are not taken for signal.
//
// Correlation lengths are 3 doublings of size, 5 of nodes, 4 of ranks per node, chosen once over
// leave-one-scale-out of all methods known (results/published/README.md), not per table.
// Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapter 2.
#pragma once

#include <memory>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

/// Where a time was measured, on logarithmic axes.
struct FieldPlace {
  double size = 0;   // log2 of bytes
  double nodes = 0;  // log2; nodes that are not known count as one
  double ranks = 0;  // log2, of a node
  bool is_scale_of(const FieldPlace& other) const {
    return nodes == other.nodes && ranks == other.ranks;
  }
};
FieldPlace place_of(const Scale& scale, Bytes bytes);

/// Immutable. Thread safety: const members may run on any number of threads.
class DeviationField {
 public:
  struct Value {
    double mean = 0;
    double deviation = 0;  // standard, of what is not known there
  };

  /// Deviations are of logarithms of times; `own[i]` is the variance that the scale of places[i]
  /// has for itself there, 0 where it agrees with the others; `noise` is a standard deviation.
  /// Requires vectors of one length.
  DeviationField(std::vector<FieldPlace> places, const std::vector<double>& deviations,
                 std::vector<double> own, double spread, double noise = 0);

  Value at(const FieldPlace& place) const;

  /// The variance that every scale of several nodes has for itself, by predicting it from the
  /// others: what its error, averaged over neighbouring sizes, exceeds three times the variance
  /// expected by. Zeros where fewer than three scales of several nodes are measured, which cannot
  /// be separated.
  std::vector<double> variance_of_scales() const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// The standard deviation of noise, by how far each place lies from the line between the sizes next
/// to it; the median counts, so that changes of protocol do not. Sizes that are not within one
/// doubling of each other say nothing; 0 with fewer than eight that do. Requires places sorted by
/// scale and size.
double noise_of(const std::vector<FieldPlace>& places, const std::vector<double>& deviations);

}  // namespace collbench

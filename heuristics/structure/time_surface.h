// What is known of the times of several methods at several scales and sizes when only some of them
// have been measured: an expected time for each, how sure it is, and how they hang together.
//
// A Gaussian process over ln(time). Its prior is the network model that all methods of a system
// share, linearised where the measured rows fit best: constants that are not known make all times
// uncertain together, in the way in which rounds depend on them. (A system of GPUs has two: NCCL's
// methods have another than MPI's.) What the model misses is alike for one family of forms, for one
// method, at near sizes and scales:
//
//   cov = same model * J D J' + common(n, p) + same family * family(n, p) + same method * method(n,
//   p)
//
// with J the derivatives of ln(time) by the logarithms of the constants and D their prior
// variances. Methods whose form is not known get the mean of the others, and are less sure.
// A library's own choice counts as MPICH's usual one (library_choice.h) where switches join nodes.
// Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, chapters 2 and 2.7.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "core/units.h"
#include "heuristics/measurement.h"
#include "heuristics/structure/joint_fit.h"
#include "heuristics/structure/network_model.h"

namespace collbench {

/// A time that can be measured.
struct SurfaceCell {
  MethodKey method;
  Scale scale;
  Bytes bytes;
};

/// Thread safety: const members may run on any number of threads.
class TimeSurface {
 public:
  /// Requires cells of one system, at most 4,000 (memory is 8 bytes for each pair of them).
  /// `drift` is expected of ln(time) between two measurements of one cell, beyond what each knows
  /// of itself (standard deviation), and is learnt from cells that are measured again; 0: there is
  /// none.
  explicit TimeSurface(std::vector<SurfaceCell> cells, double drift = 0);

  const std::vector<SurfaceCell>& cells() const { return cells_; }
  /// A measured time whose logarithm is sure to `deviation` (standard), drift aside. A cell may be
  /// measured again.
  void measure(std::size_t cell, Seconds time, double deviation);

  /// Expected ln(microseconds), and its covariance.
  double log_us(std::size_t cell) const { return mean_[cell]; }
  double covariance(std::size_t a, std::size_t b) const { return covariance_[a * size() + b]; }
  std::size_t size() const { return cells_.size(); }
  /// As far as it is learnt.
  double drift() const { return drift_; }

 private:
  struct Form {
    bool is_known = false;
    Interconnect interconnect{};
    PlayedMethod played;
    double log_us = 0;
    std::vector<double> slopes;  // of log_us by the logarithm of each constant
  };
  struct Observation {
    std::size_t cell;
    double log_us;
    double variance;  // without drift
  };
  struct Repeats {
    int count = 0;
    double mean = 0;  // of log_us
  };

  std::vector<FittedConstant> constants(const NetworkModel& model) const;
  void linearise();
  void linearise(const NetworkModel& model);
  void fill_unknown();
  double prior_covariance(std::size_t a, std::size_t b) const;
  void observe(const Observation& observation);
  void learn_drift(const Observation& observation);

  std::vector<SurfaceCell> cells_;
  std::set<Interconnect> interconnects_;  // of the known forms, each with its model
  std::vector<Form> forms_;
  std::vector<Observation> observations_;
  std::size_t linearised_after_ = 0;  // observations
  double expected_drift_;
  double drift_;
  double linearised_with_;  // drift
  double drift_squares_ = 0;
  int drifts_ = 0;
  std::vector<Repeats> repeats_;  // of each cell
  std::vector<double> mean_;
  std::vector<double> covariance_;  // size() x size()
};

}  // namespace collbench

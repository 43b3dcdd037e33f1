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
#include <map>
#include <set>
#include <utility>
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
  /// ln of the time of cell `above` over that of `below`, both measured by turns: most of what
  /// drifts is in both. How much ratios scatter is learnt from pairs that are measured again; half
  /// of the drift is expected. What lies far off counts as three deviations.
  void measure_ratio(std::size_t above, std::size_t below, double log_ratio);

  /// Expected ln(microseconds), and its covariance.
  double log_us(std::size_t cell) const { return mean_[cell]; }
  double covariance(std::size_t a, std::size_t b) const { return covariance_[a * size() + b]; }
  std::size_t size() const { return cells_.size(); }
  /// As far as it is learnt.
  double drift() const { return drift_.learnt(); }
  double ratio_drift() const { return ratio_drift_.learnt(); }

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
    double log_us;      // or of a ratio, ln
    double variance;    // without drift
    std::size_t below;  // the other cell of a ratio; size(): none
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
  // What is seen far off its cell's (or pair's) mean, as after a pause of the machine, counts as
  // three deviations. The expected drift counts as four repeats.
  class Drift {
   public:
    explicit Drift(double expected) : expected_(expected), learnt_(expected) {}
    double expected() const { return expected_; }
    double learnt() const { return learnt_; }
    void see(Repeats& repeats, double log);

   private:
    double expected_;
    double learnt_;
    double squares_ = 0;
    int seen_ = 0;
  };

  std::vector<SurfaceCell> cells_;
  std::set<Interconnect> interconnects_;  // of the known forms, each with its model
  std::vector<Form> forms_;
  std::vector<Observation> observations_;
  std::size_t linearised_after_ = 0;  // observations
  Drift drift_;
  Drift ratio_drift_;
  double linearised_with_ = 0;    // drift
  std::vector<Repeats> repeats_;  // of each cell
  std::map<std::pair<std::size_t, std::size_t>, Repeats> ratio_repeats_;
  std::vector<double> mean_;
  std::vector<double> covariance_;  // size() x size()
};

}  // namespace collbench

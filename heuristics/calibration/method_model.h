// The model of one measured method: a trend with physical terms, and on it the measured deviations
// from it, carried to other sizes and scales as far as they correlate.
//
//   log time(s, N, p) = trend(s, N, p) + d(s, N, p)
//
// d is a Gaussian process (heuristics/calibration/deviation_field.h). So at a measured point the
// model is the measurement (within 5 % of noise), near one it keeps the shape of the curve measured
// there (protocol switches, dips), and far from all it is the trend. Its standard deviation says
// which.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "heuristics/calibration/trend.h"
#include "heuristics/estimate.h"

namespace collbench {

/// Immutable and cheap to copy. Thread safety: const members may run on any number of threads.
class MethodModel {
 public:
  static constexpr double least_run_noise = 0.05;  // a batch of measurements repeats no better
  /// Requires rows of one method, at least one. Rows of the same scale and size count as their
  /// median. `noise` is as below, of rows whose repeats are not there; 0: they are.
  explicit MethodModel(std::vector<MeasuredTime> rows, double noise = 0);

  /// `more_noise` is a standard deviation of ln(time) beside that of the model, for another type or
  /// operator than was measured.
  Estimate estimate(const Scale& scale, Bytes bytes, double more_noise = 0) const;

  const MethodKey& method() const;
  const Trend& trend() const;
  /// The points it rests on, by scale and size.
  const std::vector<MeasuredTime>& points() const;
  /// How many more were measured: of very many it keeps 700, evenly spread.
  std::size_t points_left_out() const;
  /// Standard deviation of ln(time) from one run to the next, by the rows that repeat a point; at
  /// least `least_run_noise`.
  double noise() const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace collbench

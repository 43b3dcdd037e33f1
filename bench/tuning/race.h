// Which of several methods is fastest at each of many points (scale and size), with few
// measurements: each is made where it promises to improve the choices most.
//
// What is promised is the knowledge gradient: with the choices as they stand, by how much ln(time)
// of the point's choice is expected to fall once this cell is measured, added up over all points
// that are correlated with it. A method whose interval lies above that of the point's choice
// promises nothing, so it drops out; so does a point whose choice is settled. Source: Frazier,
// Powell and Dayanik, The knowledge-gradient policy for correlated normal beliefs, INFORMS J.
// Computing 2009, here with pairs of methods instead of all at once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "heuristics/structure/time_surface.h"

namespace collbench {

/// The cells of one scale and size, of which one is to be chosen.
using RacePoint = std::vector<std::size_t>;

/// Thread safety: as TimeSurface.
class Race {
 public:
  /// `drift` as of TimeSurface.
  explicit Race(std::vector<SurfaceCell> cells, double drift = 0);

  const TimeSurface& surface() const { return surface_; }
  const std::vector<RacePoint>& points() const { return points_; }
  /// `deviation` is that of ln(time).
  void measured(std::size_t cell, Seconds time, double deviation);
  /// As TimeSurface::measure_ratio().
  void measured_ratio(std::size_t above, std::size_t below, double log_ratio) {
    surface_.measure_ratio(above, below, log_ratio);
  }
  bool is_measured(std::size_t cell) const { return times_[cell] > 0; }
  int measurements() const { return measurements_; }

  struct Promise {
    std::size_t cell = 0;
    double gain = 0;  // in ln(time), over all points
  };
  /// The cell that promises most for what `cost` says it costs; nothing if all cost infinitely
  /// much, or none promises 0.1 % of the time of a point on average. `deviation` is that of a
  /// measurement to come.
  std::optional<Promise> next(const std::function<double(std::size_t)>& cost,
                              double deviation) const;

  /// The method of the least expected time.
  std::size_t choice(const RacePoint& point) const;

 private:
  double gain(std::size_t cell, double deviation) const;

  TimeSurface surface_;
  std::vector<RacePoint> points_;
  std::vector<int> times_;  // that each cell was measured
  int measurements_ = 0;
};

}  // namespace collbench

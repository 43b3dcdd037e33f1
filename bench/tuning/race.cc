#include "bench/tuning/race.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include "bench/verdicts/statistics_ranks.h"

namespace collbench {
namespace {

constexpr double least_gain = 1e-3;  // of ln(time), a point on average: not worth a look

// What is won on average by learning a difference whose mean is `behind` and whose deviation is
// `deviation`, if one goes over to the other whenever it turns out to be below.
double expected_gain(double behind, double deviation) {
  if (deviation < 1e-9) return 0;
  const double z = behind / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  return deviation * (density - z * normal_cdf(-z));
}

}  // namespace

Race::Race(std::vector<SurfaceCell> cells, double drift) : surface_(std::move(cells), drift) {
  std::map<std::tuple<Scale, std::int64_t>, RacePoint> points;
  for (std::size_t i = 0; i < surface_.size(); ++i) {
    const SurfaceCell& cell = surface_.cells()[i];
    points[{cell.scale, cell.bytes.count}].push_back(i);
  }
  for (auto& [place, point] : points) points_.push_back(std::move(point));
  times_.resize(surface_.size());
}

void Race::measured(std::size_t cell, Seconds time, double deviation) {
  surface_.measure(cell, time, deviation);
  ++times_[cell];
  ++measurements_;
}

std::size_t Race::choice(const RacePoint& point) const {
  return *std::min_element(point.begin(), point.end(), [&](std::size_t a, std::size_t b) {
    return surface_.log_us(a) < surface_.log_us(b);
  });
}

double Race::gain(std::size_t cell, double deviation) const {
  const double scatter = std::sqrt(surface_.covariance(cell, cell) + deviation * deviation);
  double gain = 0;
  for (const RacePoint& point : points_) {
    const std::size_t best = choice(point);
    double most = 0;
    for (const std::size_t rival : point) {
      if (rival == best) continue;
      const double learnt =
          std::abs(surface_.covariance(cell, best) - surface_.covariance(cell, rival)) / scatter;
      most = std::max(most, expected_gain(surface_.log_us(rival) - surface_.log_us(best), learnt));
    }
    gain += most;
  }
  return gain;
}

std::optional<Race::Promise> Race::next(const std::function<double(std::size_t)>& cost,
                                        double deviation) const {
  std::optional<Promise> best;
  double most = 0;
  const double least = least_gain * static_cast<double>(points_.size());
  for (std::size_t cell = 0; cell < surface_.size(); ++cell) {
    const double price = cost(cell);
    if (std::isinf(price)) continue;
    const double promised = gain(cell, deviation);
    if (promised < least || promised / price <= most) continue;
    most = promised / price;
    best = Promise{cell, promised};
  }
  return best;
}

}  // namespace collbench

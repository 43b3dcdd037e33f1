#include "heuristics/calibration/method_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/calibration/deviation_field.h"
#include "heuristics/measured_range.h"
#include "heuristics/structure/noise_of_repeats.h"

namespace collbench {
namespace {

constexpr std::size_t most_points = 700;
constexpr int rounds_of_trust = 2;
/// Standard deviations of ln(time) for each doubling outside what was measured, beyond what the
/// deviations say. Of the nodes, for the ranges of size_bands: most where libraries change
/// algorithm and protocol, which other scales do at other sizes; chosen so that the intervals of
/// ABCI's and Alps' tables hold. Of the sizes and the ranks of a node: results/published/README.md.
constexpr std::array<double, size_bands.size()> per_node_doubling{0.04, 0.2, 0.12, 0.12};
constexpr double outside_size_doubling = 0.12;
constexpr double outside_rank_doubling = 0.4;

/// most_points of them, evenly many.
std::vector<MeasuredTime> thinned(const std::vector<MeasuredTime>& points) {
  std::vector<MeasuredTime> fewer;
  for (std::size_t i = 0; i < most_points; ++i) {
    fewer.push_back(points[i * (points.size() - 1) / (most_points - 1)]);
  }
  return fewer;
}

/// A trend, and what the points deviate from it.
struct Fitted {
  Trend trend;
  DeviationField deviations;
};

/// Scales that contradict the others count the less, the more they do.
Fitted fit(const std::vector<MeasuredTime>& points, const Prior& prior) {
  std::vector<FieldPlace> places;
  for (const MeasuredTime& point : points) places.push_back(place_of(point.scale, point.bytes));
  std::vector<double> own(points.size(), 0.0);  // variance of scales that contradict the others
  std::vector<double> trust(points.size(), 1.0);
  for (int round = 0;; ++round) {
    const Trend trend(points, prior, trust);
    std::vector<double> deviations;
    double sum = 0;
    double all = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      deviations.push_back(
          std::log(points[i].time.count()) -
          trend.log_time(points[i].scale, static_cast<double>(points[i].bytes.count)));
      sum += trust[i] * deviations[i] * deviations[i];
      all += trust[i];
    }
    // Of the deviations, without what is a scale's own.
    const double spread = std::sqrt(std::max(sum / all, 1e-4));
    DeviationField field(places, deviations, own, spread, noise_of(places, deviations));
    if (round == rounds_of_trust) return {trend, std::move(field)};
    std::vector<double> now = field.variance_of_scales();
    if (now == own) return {trend, std::move(field)};
    own = std::move(now);
    for (std::size_t i = 0; i < points.size(); ++i) {
      trust[i] = spread * spread / (spread * spread + own[i]);
    }
  }
}

}  // namespace

struct MethodModel::Data {
  MethodKey method;
  std::vector<MeasuredTime> points;
  std::size_t left_out;
  Fitted fitted;
  MeasuredRange range;
  double noise;
};

MethodModel::MethodModel(std::vector<MeasuredTime> rows, double noise) {
  require(!rows.empty(), "a model needs at least one measurement");
  const MethodKey method = method_of(rows.front());
  std::vector<MeasuredTime> points = medians_of(rows);
  const std::size_t left_out = points.size() - std::min(points.size(), most_points);
  if (left_out > 0) points = thinned(points);
  MeasuredRange range;
  for (const MeasuredTime& point : points) range.add(point);
  Fitted fitted = fit(points, prior_for(method));
  if (noise == 0) noise = std::max(least_run_noise, noise_of_repeats(rows));
  data_ = std::make_shared<const Data>(
      Data{method, std::move(points), left_out, std::move(fitted), std::move(range), noise});
}

Estimate MethodModel::estimate(const Scale& scale, Bytes bytes, double more_noise) const {
  require(scale.ranks >= 1, fmt::format("a model of {} ranks", scale.ranks));
  const Data& data = *data_;
  const DeviationField::Value deviation = data.fitted.deviations.at(place_of(scale, bytes));
  const double log_time = data.fitted.trend.log_time(
                              scale, static_cast<double>(std::max<std::int64_t>(bytes.count, 1))) +
                          deviation.mean;
  constexpr double eighty_percent = 1.2816;
  const double outside =
      std::hypot(per_node_doubling[band_of(bytes)] * data.range.doublings_outside(scale.extent()),
                 outside_rank_doubling * data.range.rank_doublings_outside(scale),
                 outside_size_doubling * data.range.doublings_outside(bytes));
  const double off = std::hypot(std::max(deviation.deviation, data.noise), outside, more_noise);
  Estimate estimate;
  estimate.time = Seconds{std::exp(log_time)};
  estimate.low = Seconds{std::exp(log_time - eighty_percent * off)};
  estimate.high = Seconds{std::exp(log_time + eighty_percent * off)};
  estimate.extrapolates = data.range.beyond(scale, bytes);
  return estimate;
}

const MethodKey& MethodModel::method() const { return data_->method; }
const Trend& MethodModel::trend() const { return data_->fitted.trend; }
const std::vector<MeasuredTime>& MethodModel::points() const { return data_->points; }
std::size_t MethodModel::points_left_out() const { return data_->left_out; }
double MethodModel::noise() const { return data_->noise; }

}  // namespace collbench

#include "heuristics/calibration/method_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/calibration/deviation_field.h"
#include "heuristics/measured_range.h"

namespace collbench {
namespace {

constexpr std::size_t most_points = 700;
constexpr int rounds_of_trust = 2;
/// Standard deviation of ln(time) for each doubling of the nodes outside the scales measured,
/// beyond what the deviations say, for the ranges of size_bands: most where libraries change
/// algorithm and protocol, which other scales do at other sizes. Chosen so that the intervals of
/// ABCI's and Alps' tables hold.
constexpr std::array<double, size_bands.size()> per_node_doubling{0.04, 0.2, 0.12, 0.12};

/// One row for every scale and size; of more than most_points sizes, evenly many.
std::vector<MeasuredTime> condensed(const std::vector<MeasuredTime>& rows) {
  std::vector<MeasuredTime> points = medians_of(rows);
  if (points.size() <= most_points) return points;
  std::vector<MeasuredTime> fewer;
  for (std::size_t i = 0; i < most_points; ++i) {
    fewer.push_back(points[i * (points.size() - 1) / (most_points - 1)]);
  }
  return fewer;
}

/// Doublings of the nodes beyond the largest scale measured, or below the smallest.
double node_doublings_outside(const MeasuredRange& range, int extent) {
  const double low = *range.extents().begin();
  const double high = *range.extents().rbegin();
  return std::max({0.0, std::log2(extent / high), std::log2(low / extent)});
}

/// A trend, and what the points deviate from it.
struct Fitted {
  Trend trend;
  std::vector<FieldPlace> places;
  std::vector<double> deviations;  // of logarithms of times
  std::vector<double> own;         // variance of scales that contradict the others
  double spread = 0;               // standard deviation of the deviations, without what is `own`
};

/// `trust` has an entry for each point.
void fit_trend(const std::vector<MeasuredTime>& points, const Prior& prior,
               const std::vector<double>& trust, Fitted& fitted) {
  fitted.trend = Trend(points, prior, trust);
  double sum = 0;
  double all = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredTime& point = points[i];
    const double deviation =
        std::log(point.time.count()) -
        fitted.trend.log_time(point.scale, static_cast<double>(point.bytes.count));
    fitted.deviations[i] = deviation;
    sum += trust[i] * deviation * deviation;
    all += trust[i];
  }
  fitted.spread = std::sqrt(std::max(sum / all, 1e-4));
}

/// Scales that contradict the others count the less, the more they do.
Fitted fit(const std::vector<MeasuredTime>& points, const Prior& prior) {
  Fitted fitted;
  for (const MeasuredTime& point : points) {
    fitted.places.push_back(place_of(point.scale, point.bytes));
  }
  fitted.deviations.resize(points.size());
  fitted.own.resize(points.size(), 0.0);
  std::vector<double> trust(points.size(), 1.0);
  fit_trend(points, prior, trust, fitted);
  for (int round = 0; round < rounds_of_trust; ++round) {
    fitted.own = variance_of_scales(fitted.places, fitted.deviations, fitted.own, fitted.spread);
    const double usual = fitted.spread * fitted.spread;
    bool doubted = false;
    for (std::size_t i = 0; i < points.size(); ++i) {
      trust[i] = usual / (usual + fitted.own[i]);
      doubted = doubted || fitted.own[i] > 0;
    }
    if (!doubted) break;
    fit_trend(points, prior, trust, fitted);
  }
  return fitted;
}

}  // namespace

struct MethodModel::Data {
  MethodKey method;
  std::vector<MeasuredTime> points;
  Trend trend;
  std::optional<DeviationField> deviations;
  MeasuredRange range;
};

MethodModel::MethodModel(std::vector<MeasuredTime> rows) {
  require(!rows.empty(), "a model needs at least one measurement");
  auto data = std::make_shared<Data>();
  data->method = method_of(rows.front());
  data->points = condensed(rows);
  for (const MeasuredTime& point : data->points) data->range.add(point);
  Fitted fitted = fit(data->points, prior_for(data->method));
  data->trend = fitted.trend;
  data->deviations.emplace(std::move(fitted.places), fitted.deviations, std::move(fitted.own),
                           fitted.spread);
  data_ = std::move(data);
}

Estimate MethodModel::estimate(const Scale& scale, Bytes bytes) const {
  require(scale.ranks >= 1, fmt::format("a model of {} ranks", scale.ranks));
  const Data& data = *data_;
  const DeviationField::Value deviation = data.deviations->at(place_of(scale, bytes));
  const double log_time =
      data.trend.log_time(scale, static_cast<double>(std::max<std::int64_t>(bytes.count, 1))) +
      deviation.mean;
  constexpr double eighty_percent = 1.2816;
  const double off =
      std::hypot(deviation.deviation, per_node_doubling[band_of(bytes)] *
                                          node_doublings_outside(data.range, scale.extent()));
  Estimate estimate;
  estimate.time = Seconds{std::exp(log_time)};
  estimate.low = Seconds{std::exp(log_time - eighty_percent * off)};
  estimate.high = Seconds{std::exp(log_time + eighty_percent * off)};
  estimate.extrapolates = data.range.beyond(scale, bytes);
  return estimate;
}

const MethodKey& MethodModel::method() const { return data_->method; }
const Trend& MethodModel::trend() const { return data_->trend; }
const std::vector<MeasuredTime>& MethodModel::points() const { return data_->points; }

}  // namespace collbench

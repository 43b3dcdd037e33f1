#include "heuristics/method_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/dense.h"

namespace collbench {
namespace {

constexpr double size_length = 3;  // doublings
constexpr double nodes_length = 5;
constexpr double ranks_length = 4;
constexpr double one_node = 1;  // a single node is as far from two as this, beyond the doubling
constexpr double noise = 0.08;  // of the deviation, relative to its spread
constexpr std::size_t most_points = 700;

struct Place {
  double size = 0;
  double nodes = 0;
  double ranks = 0;
  bool single = false;
};

Place place_of(const Scale& scale, Bytes bytes) {
  const double nodes = std::max(scale.nodes, 1);
  return {std::log2(static_cast<double>(std::max<std::int64_t>(bytes.count, 1))), std::log2(nodes),
          std::log2(scale.ranks / nodes), nodes == 1};
}

double correlation(const Place& a, const Place& b) {
  return std::exp(-std::abs(a.size - b.size) / size_length -
                  std::abs(a.nodes - b.nodes) / nodes_length -
                  std::abs(a.ranks - b.ranks) / ranks_length - one_node * (a.single != b.single));
}

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half),
                   values.end());
  const double upper = values[half];
  if (values.size() % 2 == 1) return upper;
  return (upper +
          *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half))) /
         2;
}

/// One row for every scale and size; of more than most_points sizes, evenly many.
std::vector<MeasuredTime> condensed(const std::vector<MeasuredTime>& rows) {
  std::map<std::pair<Scale, Bytes>, std::vector<const MeasuredTime*>> groups;
  for (const MeasuredTime& row : rows) groups[{row.scale, row.bytes}].push_back(&row);
  std::vector<MeasuredTime> points;
  for (const auto& [key, group] : groups) {
    std::vector<double> times;
    for (const MeasuredTime* row : group) times.push_back(row->time.count());
    points.push_back(*group.front());
    points.back().time = Seconds{median(std::move(times))};
  }
  if (points.size() <= most_points) return points;
  std::vector<MeasuredTime> fewer;
  for (std::size_t i = 0; i < most_points; ++i) {
    fewer.push_back(points[i * (points.size() - 1) / (most_points - 1)]);
  }
  return fewer;
}

}  // namespace

struct MethodModel::Data {
  MethodKey method;
  std::vector<MeasuredTime> points;
  Trend trend;
  std::vector<Place> places;
  double spread = 0;  // standard deviation of the deviations
  std::vector<double> weights;
  std::shared_ptr<const Cholesky> covariance;  // relative to spread^2
  std::set<int> nodes;
  std::set<int> each;
  Bytes least;
  Bytes most;
};

MethodModel::MethodModel(std::vector<MeasuredTime> rows) {
  require(!rows.empty(), "a model needs at least one measurement");
  auto data = std::make_shared<Data>();
  data->method = method_of(rows.front());
  data->points = condensed(rows);
  data->trend = Trend(data->points, prior_for(data->method));
  const std::size_t n = data->points.size();
  std::vector<double> deviations(n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const MeasuredTime& point = data->points[i];
    data->places.push_back(place_of(point.scale, point.bytes));
    deviations[i] = std::log(point.time.count()) -
                    data->trend.log_time(point.scale, static_cast<double>(point.bytes.count));
    sum += deviations[i] * deviations[i];
    data->nodes.insert(std::max(point.scale.nodes, 1));
    data->each.insert(point.scale.ranks / std::max(point.scale.nodes, 1));
    data->least = i == 0 ? point.bytes : std::min(data->least, point.bytes);
    data->most = std::max(data->most, point.bytes);
  }
  data->spread = std::sqrt(std::max(sum / static_cast<double>(n), 1e-4));
  Matrix matrix(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      matrix(i, j) = correlation(data->places[i], data->places[j]);
    }
    matrix(i, i) += noise * noise;
  }
  data->covariance = std::make_shared<const Cholesky>(std::move(matrix));
  data->weights = data->covariance->solve(std::move(deviations));
  data_ = std::move(data);
}

namespace {

/// Beyond the measured values of one axis, in words.
void add_beyond(const std::set<int>& known, int asked, const char* what, std::string& text) {
  if (asked >= *known.begin() && asked <= *known.rbegin()) return;
  if (!text.empty()) text += "; ";
  text += known.size() == 1
              ? fmt::format("{} {}, measured with {} only", asked, what, *known.begin())
              : fmt::format("{} {}, measured with {} to {}", asked, what, *known.begin(),
                            *known.rbegin());
}

}  // namespace

Estimate MethodModel::estimate(const Scale& scale, Bytes bytes) const {
  require(scale.ranks >= 1, fmt::format("a model of {} ranks", scale.ranks));
  const Data& data = *data_;
  const Place place = place_of(scale, bytes);
  std::vector<double> reach(data.points.size());
  double deviation = 0;
  for (std::size_t i = 0; i < reach.size(); ++i) {
    reach[i] = correlation(place, data.places[i]);
    deviation += reach[i] * data.weights[i];
  }
  double known = 0;
  for (const double y : data.covariance->half_solve(std::move(reach))) known += y * y;
  const double sigma = data.spread * std::sqrt(std::max(1 - known, 0.0) + noise * noise);
  const double log_time =
      data.trend.log_time(scale, static_cast<double>(std::max<std::int64_t>(bytes.count, 1))) +
      deviation;
  constexpr double eighty_percent = 1.2816;
  Estimate estimate;
  estimate.time = Seconds{std::exp(log_time)};
  estimate.low = Seconds{std::exp(log_time - eighty_percent * sigma)};
  estimate.high = Seconds{std::exp(log_time + eighty_percent * sigma)};
  const int nodes = std::max(scale.nodes, 1);
  add_beyond(data.nodes, nodes, "nodes", estimate.extrapolates);
  add_beyond(data.each, scale.ranks / nodes, "ranks per node", estimate.extrapolates);
  if (bytes < data.least || bytes > data.most) {
    if (!estimate.extrapolates.empty()) estimate.extrapolates += "; ";
    estimate.extrapolates += fmt::format("{}, measured from {} to {}", to_string(bytes),
                                         to_string(data.least), to_string(data.most));
  }
  return estimate;
}

std::string MethodModel::explain(const Scale& scale, Bytes bytes) const {
  const auto size = static_cast<double>(std::max<std::int64_t>(bytes.count, 1));
  const TermValues terms = data_->trend.terms(scale, size);
  double sum = 0;
  for (const double term : terms) sum += term;
  std::string text;
  for (std::size_t k = 0; k < trend_terms; ++k) {
    if (terms[k] < 0.01 * sum) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", trend_term_infos()[k].name,
                        to_string(Seconds{terms[k]}));
  }
  const double factor = estimate(scale, bytes).time.count() / sum;
  return fmt::format("{}, times {:.3g} as measured nearby", text, factor);
}

const MethodKey& MethodModel::method() const { return data_->method; }
const Trend& MethodModel::trend() const { return data_->trend; }
const std::vector<MeasuredTime>& MethodModel::points() const { return data_->points; }

}  // namespace collbench

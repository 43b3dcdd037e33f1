#include "heuristics/calibration/deviation_field.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>

#include "core/error.h"
#include "core/quantile.h"

namespace collbench {
namespace {

constexpr double size_length = 3;  // doublings
constexpr double nodes_length = 5;
constexpr double ranks_length = 4;
constexpr double one_node = 1;  // a single node is as far from two as this, beyond the doubling
constexpr double least_noise = 0.08;  // of a deviation, relative to the spread
constexpr double dense = 1.01;        // doublings from the size before to the one after; rounded
constexpr std::size_t least_dense = 8;
constexpr double own_length = 10;  // doublings of size; what disturbs a job disturbs most of it
constexpr double window = 4;       // doublings of size; changes of protocol are narrower
constexpr double expected = 3;     // times the variance, up to which a scale agrees
constexpr std::size_t least_scales = 3;

double correlation(const FieldPlace& a, const FieldPlace& b) {
  const bool inside = (a.nodes == 0) != (b.nodes == 0);
  return std::exp(-std::abs(a.size - b.size) / size_length -
                  std::abs(a.nodes - b.nodes) / nodes_length -
                  std::abs(a.ranks - b.ranks) / ranks_length - (inside ? one_node : 0));
}

double covariance(const FieldPlace& a, double own_a, const FieldPlace& b, double own_b,
                  double spread) {
  const double shared = spread * spread * correlation(a, b);
  if (own_a * own_b == 0 || !a.is_scale_of(b)) return shared;
  return shared + std::sqrt(own_a * own_b) * std::exp(-std::abs(a.size - b.size) / own_length);
}

/// Scales of several nodes, each by one of its places.
std::vector<FieldPlace> scales_of(const std::vector<FieldPlace>& places) {
  std::vector<FieldPlace> scales;
  for (const FieldPlace& place : places) {
    if (place.nodes == 0) continue;
    const bool known = std::any_of(scales.begin(), scales.end(), [&](const FieldPlace& scale) {
      return scale.is_scale_of(place);
    });
    if (!known) scales.push_back(place);
  }
  return scales;
}

/// Average of `values` at places[at], by the distance of sizes.
double smoothed(const std::vector<FieldPlace>& places, const std::vector<double>& values,
                std::size_t at) {
  double sum = 0;
  double weights = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double weight = std::exp(-std::abs(places[i].size - places[at].size) / window);
    sum += weight * values[i];
    weights += weight;
  }
  return sum / weights;
}

}  // namespace

FieldPlace place_of(const Scale& scale, Bytes bytes) {
  const double nodes = std::max(scale.nodes, 1);
  return {std::log2(static_cast<double>(std::max<std::int64_t>(bytes.count, 1))), std::log2(nodes),
          std::log2(scale.ranks / nodes)};
}

struct DeviationField::Data {
  std::vector<FieldPlace> places;
  std::vector<double> own;
  double spread;
  double noise_variance;
  Eigen::LLT<Eigen::MatrixXd> solver;  // of the covariances of all places
  Eigen::VectorXd weights;
};

DeviationField::DeviationField(std::vector<FieldPlace> places,
                               const std::vector<double>& deviations, std::vector<double> own,
                               double spread, double noise) {
  const auto n = static_cast<Eigen::Index>(places.size());
  Eigen::MatrixXd matrix(n, n);  // of which LLT reads the lower half
  for (std::size_t j = 0; j < places.size(); ++j) {
    for (std::size_t i = j; i < places.size(); ++i) {
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          covariance(places[i], own[i], places[j], own[j], spread);
    }
  }
  const double noise_variance = std::pow(std::max(noise, least_noise * spread), 2);
  matrix.diagonal().array() += noise_variance;
  Eigen::LLT<Eigen::MatrixXd> solver(matrix);
  Eigen::VectorXd weights = solver.solve(Eigen::Map<const Eigen::VectorXd>(deviations.data(), n));
  // A number that is none passes through the factorisation.
  require(solver.info() == Eigen::Success && weights.allFinite(),
          "the deviations of times have no finite covariance");
  data_ = std::make_shared<const Data>(Data{std::move(places), std::move(own), spread,
                                            noise_variance, std::move(solver), std::move(weights)});
}

DeviationField::Value DeviationField::at(const FieldPlace& place) const {
  const auto& [places, all_own, spread, noise_variance, solver, weights] = *data_;
  // The scale's own variance at a size that was not measured is that of the nearest one.
  double own = 0;
  double away = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double distance = std::abs(place.size - places[i].size);
    if (!place.is_scale_of(places[i]) || distance >= away) continue;
    own = all_own[i];
    away = distance;
  }
  Eigen::VectorXd reach(weights.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    reach[static_cast<Eigen::Index>(i)] = covariance(place, own, places[i], all_own[i], spread);
  }
  const double known = solver.matrixL().solve(reach).squaredNorm();
  const double all = spread * spread + own;
  return {.mean = reach.dot(weights),
          .deviation = std::sqrt(std::max(all - known, 0.0) + noise_variance)};
}

// With K the covariance of all places and w = K^-1 d, the scale H is predicted from all others with
// the errors S w_H and the covariance S = ((K^-1)_HH)^-1, of which its own variance and noise are
// no part of what the others let expect. Source: Rasmussen and Williams, section 5.4.2. With K =
// L L', (K^-1)_HH is X'X, X = L^-1 to the columns of H, and 0 in all rows before the first of H.
std::vector<double> DeviationField::variance_of_scales() const {
  const auto& [places, own, spread, noise_variance, solver, weights] = *data_;
  std::vector<double> variance(places.size(), 0.0);
  const std::vector<FieldPlace> scales = scales_of(places);
  if (scales.size() < least_scales) return variance;
  const Eigen::MatrixXd& lower = solver.matrixLLT();
  for (const FieldPlace& scale : scales) {
    std::vector<Eigen::Index> held;
    std::vector<FieldPlace> held_places;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!scale.is_scale_of(places[i])) continue;
      held.push_back(static_cast<Eigen::Index>(i));
      held_places.push_back(places[i]);
    }
    const Eigen::Index first = held.front();
    const Eigen::Index rest = lower.rows() - first;
    Eigen::MatrixXd columns = Eigen::MatrixXd::Zero(rest, std::ssize(held));
    for (Eigen::Index k = 0; k < columns.cols(); ++k) {
      columns(held[static_cast<std::size_t>(k)] - first, k) = 1;
    }
    lower.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().solveInPlace(columns);
    const Eigen::MatrixXd unexplained =
        (columns.transpose() * columns)
            .llt()
            .solve(Eigen::MatrixXd::Identity(columns.cols(), columns.cols()));
    const Eigen::VectorXd all_errors = unexplained * weights(held);
    const std::vector<double> errors(all_errors.begin(), all_errors.end());
    for (std::size_t k = 0; k < held.size(); ++k) {
      const auto i = static_cast<Eigen::Index>(k);
      const auto at = static_cast<std::size_t>(held[k]);
      const double unknown = std::max(unexplained(i, i) - own[at] - noise_variance, 0.0);
      const double error = smoothed(held_places, errors, k);
      variance[at] = std::max(0.0, error * error - expected * unknown);
    }
  }
  return variance;
}

double noise_of(const std::vector<FieldPlace>& places, const std::vector<double>& deviations) {
  std::vector<double> off;
  for (std::size_t i = 1; i + 1 < places.size(); ++i) {
    const FieldPlace& before = places[i - 1];
    const FieldPlace& after = places[i + 1];
    const bool is_one_curve = before.is_scale_of(places[i]) && after.is_scale_of(places[i]) &&
                              before.size < places[i].size && places[i].size < after.size;
    const double apart = after.size - before.size;
    if (!is_one_curve || apart > dense) continue;
    const double share = (places[i].size - before.size) / apart;
    const double line = (1 - share) * deviations[i - 1] + share * deviations[i + 1];
    // The line is off by the noise of its ends.
    off.push_back(std::abs(deviations[i] - line) /
                  std::sqrt(1 + share * share + (1 - share) * (1 - share)));
  }
  constexpr double median_of_normal = 0.6745;
  return off.size() < least_dense ? 0 : quantile(std::move(off), 0.5) / median_of_normal;
}

}  // namespace collbench

#include "heuristics/calibration/deviation_field.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>

#include "core/error.h"

namespace collbench {
namespace {

constexpr double size_length = 3;  // doublings
constexpr double nodes_length = 5;
constexpr double ranks_length = 4;
constexpr double one_node = 1;     // a single node is as far from two as this, beyond the doubling
constexpr double noise = 0.08;     // of a deviation, relative to the spread
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
  if (!a.is_scale_of(b)) return shared;
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
  Eigen::LLT<Eigen::MatrixXd> solver;  // of the covariances of all places
  Eigen::VectorXd weights;
};

DeviationField::DeviationField(std::vector<FieldPlace> places,
                               const std::vector<double>& deviations, std::vector<double> own,
                               double spread) {
  const auto n = static_cast<Eigen::Index>(places.size());
  Eigen::MatrixXd matrix(n, n);  // of which LLT reads the lower half
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          covariance(places[i], own[i], places[j], own[j], spread);
    }
  }
  matrix.diagonal().array() += std::pow(noise * spread, 2);
  Eigen::LLT<Eigen::MatrixXd> solver(matrix);
  Eigen::VectorXd weights = solver.solve(Eigen::Map<const Eigen::VectorXd>(deviations.data(), n));
  // A number that is none passes through the factorisation.
  require(solver.info() == Eigen::Success && weights.allFinite(),
          "the deviations of times have no finite covariance");
  data_ = std::make_shared<const Data>(
      Data{std::move(places), std::move(own), spread, std::move(solver), std::move(weights)});
}

DeviationField::Value DeviationField::at(const FieldPlace& place) const {
  const auto& [places, all_own, spread, solver, weights] = *data_;
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
          .deviation = std::sqrt(std::max(all - known, 0.0) + std::pow(noise * spread, 2))};
}

std::vector<double> variance_of_scales(const std::vector<FieldPlace>& places,
                                       const std::vector<double>& deviations,
                                       const std::vector<double>& own, double spread) {
  std::vector<double> variance(places.size(), 0.0);
  const std::vector<FieldPlace> scales = scales_of(places);
  if (scales.size() < least_scales) return variance;
  for (const FieldPlace& scale : scales) {
    std::vector<FieldPlace> rest;
    std::vector<double> rest_deviations;
    std::vector<double> rest_own;
    std::vector<std::size_t> held;
    std::vector<FieldPlace> held_places;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (scale.is_scale_of(places[i])) {
        held.push_back(i);
        held_places.push_back(places[i]);
        continue;
      }
      rest.push_back(places[i]);
      rest_deviations.push_back(deviations[i]);
      rest_own.push_back(own[i]);
    }
    const DeviationField others(std::move(rest), rest_deviations, std::move(rest_own), spread);
    std::vector<double> errors;
    std::vector<double> unknown;
    for (const std::size_t i : held) {
      const DeviationField::Value value = others.at(places[i]);
      errors.push_back(deviations[i] - value.mean);
      unknown.push_back(value.deviation * value.deviation - std::pow(noise * spread, 2));
    }
    for (std::size_t k = 0; k < held.size(); ++k) {
      const double error = smoothed(held_places, errors, k);
      variance[held[k]] = std::max(0.0, error * error - expected * unknown[k]);
    }
  }
  return variance;
}

}  // namespace collbench

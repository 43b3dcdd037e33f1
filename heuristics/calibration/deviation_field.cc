#include "heuristics/calibration/deviation_field.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

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

Cholesky factorized(const std::vector<FieldPlace>& places, const std::vector<double>& own,
                    double spread) {
  Matrix matrix(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      matrix(i, j) = covariance(places[i], own[i], places[j], own[j], spread);
    }
    matrix(i, i) += std::pow(noise * spread, 2);
  }
  return Cholesky(std::move(matrix));
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

DeviationField::DeviationField(std::vector<FieldPlace> places,
                               const std::vector<double>& deviations, std::vector<double> own,
                               double spread)
    : places_(std::move(places)),
      own_(std::move(own)),
      spread_(spread),
      solver_(factorized(places_, own_, spread_)) {
  weights_ = solver_.solve(deviations);
}

DeviationField::Value DeviationField::at(const FieldPlace& place) const {
  // The scale's own variance at a size that was not measured is that of the nearest one.
  double own = 0;
  double away = 0;
  bool found = false;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!place.is_scale_of(places_[i])) continue;
    const double distance = std::abs(place.size - places_[i].size);
    if (found && distance >= away) continue;
    own = own_[i];
    away = distance;
    found = true;
  }
  std::vector<double> reach(places_.size());
  Value value;
  for (std::size_t i = 0; i < reach.size(); ++i) {
    reach[i] = covariance(place, own, places_[i], own_[i], spread_);
    value.mean += reach[i] * weights_[i];
  }
  double known = 0;
  for (const double y : solver_.half_solve(std::move(reach))) known += y * y;
  const double all = spread_ * spread_ + own;
  value.deviation = std::sqrt(std::max(all - known, 0.0) + std::pow(noise * spread_, 2));
  return value;
}

std::vector<double> variance_of_scales(const std::vector<FieldPlace>& places,
                                       const std::vector<double>& deviations,
                                       const std::vector<double>& own, double spread) {
  std::vector<double> variance(places.size(), 0.0);
  const std::vector<FieldPlace> scales = scales_of(places);
  if (scales.size() < least_scales) return variance;
  for (const FieldPlace& scale : scales) {
    std::vector<std::size_t> held;
    std::vector<FieldPlace> rest;
    std::vector<double> rest_deviations;
    std::vector<double> rest_own;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (scale.is_scale_of(places[i])) {
        held.push_back(i);
        continue;
      }
      rest.push_back(places[i]);
      rest_deviations.push_back(deviations[i]);
      rest_own.push_back(own[i]);
    }
    const DeviationField others(std::move(rest), rest_deviations, std::move(rest_own), spread);
    std::vector<FieldPlace> held_places;
    std::vector<double> errors;
    std::vector<double> unknown;
    for (const std::size_t i : held) {
      const DeviationField::Value value = others.at(places[i]);
      held_places.push_back(places[i]);
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

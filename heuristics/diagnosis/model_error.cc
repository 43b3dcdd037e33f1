#include "heuristics/diagnosis/model_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <Eigen/Dense>

namespace collbench {
namespace {

/// Rises from 0 at 1 MiB to 1 at 64 MiB, as far as the time is not latency.
double rate_share(const Deviation& at) {
  return std::clamp((at.log2_bytes - 20) / 6, 0.0, 1.0) * (1 - at.latency_share);
}

double local_deviation(const ModelError& error, const Deviation& at) {
  const double middle = std::clamp((at.log2_bytes - 13) / 6, 0.0, 1.0) *
                        std::clamp((26 - at.log2_bytes) / 6, 0.0, 1.0);
  return error.local_ends + (error.local_middle - error.local_ends) * middle;
}

/// One of the four combinations of narrow and wide.
struct ErrorComponent {
  double weight;
  double latency;
  double rate;
};

std::array<ErrorComponent, 4> components(const ModelError& error) {
  const double wide = error.wide_share;
  return {{{(1 - wide) * (1 - wide), error.latency, error.rate},
           {(1 - wide) * wide, error.latency, error.rate_wide},
           {wide * (1 - wide), error.latency_wide, error.rate},
           {wide * wide, error.latency_wide, error.rate_wide}}};
}

Eigen::MatrixXd covariance(const ModelError& error, const ErrorComponent& component,
                           std::span<const Deviation> curve) {
  const auto n = static_cast<Eigen::Index>(curve.size());
  Eigen::MatrixXd k(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Deviation& x = curve[static_cast<std::size_t>(i)];
      const Deviation& y = curve[static_cast<std::size_t>(j)];
      const double apart = (x.log2_bytes - y.log2_bytes) / error.reach;
      const double small =
          component.latency * component.latency * x.latency_share * y.latency_share;
      const double large = component.rate * component.rate * rate_share(x) * rate_share(y);
      const double near =
          local_deviation(error, x) * local_deviation(error, y) * std::exp(-0.5 * apart * apart);
      k(i, j) = k(j, i) = small + large + near + (i == j ? error.noise * error.noise : 0);
    }
  }
  return k;
}

/// Rows that the others do not foretell within `most` deviations get a variance that makes them so.
double robust_density(Eigen::MatrixXd k, const Eigen::VectorXd& r) {
  constexpr double most = 2.5;
  constexpr int passes = 2;
  for (int pass = 0;; ++pass) {
    const Eigen::LLT<Eigen::MatrixXd> factor(k);
    const Eigen::MatrixXd lower = factor.matrixL();
    const Eigen::VectorXd solved = factor.solve(r);
    if (pass == passes) {
      const double volume = 2 * lower.diagonal().array().log().sum();
      const double n = static_cast<double>(r.size());
      return -0.5 * (r.dot(solved) + volume + n * std::log(2 * std::numbers::pi));
    }
    const Eigen::MatrixXd inverse = factor.solve(Eigen::MatrixXd::Identity(k.rows(), k.cols()));
    for (Eigen::Index i = 0; i < r.size(); ++i) {
      const double variance = 1 / inverse(i, i);  // of the row, given all others
      const double deviations = std::abs(solved(i)) * std::sqrt(variance);
      if (deviations <= most) continue;
      const double stretch = deviations / most;
      k(i, i) += variance * (stretch * stretch - 1);
    }
  }
}

}  // namespace

ModelError error_of_unknown_library() {
  ModelError error;
  error.latency = 0.6;
  error.latency_wide = 1.2;
  error.rate = 0.25;
  error.rate_wide = 0.4;
  error.local_ends = 0.15;
  error.local_middle = 0.35;
  return error;
}

ModelError error_of_known_system() {
  ModelError error;
  error.latency_wide = 0.3;
  error.rate = 0.04;
  error.rate_wide = 0.08;
  error.local_ends = 0.04;
  error.local_middle = 0.08;
  return error;
}

ModelError with_known_rate(ModelError error) {
  error.rate_wide = error.rate;
  return error;
}

ModelError with_own_latency(ModelError error) {
  error.latency = error.latency_wide;
  return error;
}

ModelError of_unlike_system(ModelError error) {
  error.latency *= 2.4;
  error.local_ends *= 2;
  error.local_middle *= 1.8;
  error.rate *= 1.8;
  return error;
}

ModelError error_of_unexplained(ModelError error) {
  error.latency = error.latency_wide = std::max(1.2, error.latency_wide);
  error.rate = error.rate_wide = 1.5;
  error.local_ends = std::max(0.3, error.local_ends);
  error.local_middle = std::max(0.8, error.local_middle);
  return error;
}

double log_likelihood(const ModelError& error, std::span<const Deviation> curve) {
  Eigen::VectorXd r(static_cast<Eigen::Index>(curve.size()));
  for (std::size_t i = 0; i < curve.size(); ++i) {
    r(static_cast<Eigen::Index>(i)) = curve[i].log_ratio;
  }
  const std::array<ErrorComponent, 4> all = components(error);
  std::array<double, 4> logs{};
  double density = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // With a known rate, two and two are the same.
    const bool same =
        i > 0 && all[i].latency == all[i - 1].latency && all[i].rate == all[i - 1].rate;
    if (!same) density = robust_density(covariance(error, all[i], curve), r);
    logs[i] = std::log(all[i].weight) + density;
  }
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double each : logs) sum += std::exp(each - largest);
  return largest + std::log(sum);
}

double log_of_steps(std::span<const Bytes> sizes, std::span<const double> log_times) {
  constexpr double seldom = 0.015;
  constexpr double noise = 0.08;  // of the difference of two rows
  double sum = 0;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double grown = log_times[i] - log_times[i - 1];
    const double most =
        std::log(static_cast<double>(sizes[i].count) / static_cast<double>(sizes[i - 1].count));
    const double beyond = std::max({0.0, grown - most, -grown}) / noise;
    sum += std::log((1 - seldom) * std::exp(-0.5 * beyond * beyond) + seldom);
  }
  return sum;
}

double chance_below(const ModelError& error, const Deviation& at, double log_ratio) {
  const double local = std::hypot(local_deviation(error, at), error.noise);
  const double small = at.latency_share;
  const double large = rate_share(at);
  double sum = 0;
  for (const ErrorComponent& each : components(error)) {
    const double deviation = std::hypot(std::hypot(small * each.latency, large * each.rate), local);
    sum += each.weight * 0.5 * std::erfc(-log_ratio / deviation / std::numbers::sqrt2);
  }
  return sum;
}

double error_quantile(const ModelError& error, const Deviation& at, double share) {
  double low = -8;
  double high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (chance_below(error, at, middle) < share ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

}  // namespace collbench

#include "heuristics/calibration/trend.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "heuristics/calibration/dense.h"

namespace collbench {
namespace {

enum Term : std::size_t {
  start,
  node_latency,
  network_latency,
  ring_latency,
  node_rate,
  network_rate,
  through,
  whole,
  memory,
  chunks
};

constexpr double prior_weight = 0.02;
constexpr double robust_beyond = 0.5;  // of the logarithm of a time

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return text;
}

Prior from_values(const TermValues& microseconds, const TermValues& deviation) {
  Prior prior;
  for (std::size_t k = 0; k < trend_terms; ++k) prior.mean[k] = std::log(microseconds[k]);
  prior.deviation = deviation;
  return prior;
}

/// One row as the fit sees it.
struct TrendRow {
  TermValues basis{};
  double log_microseconds = 0;
  double trust = 1;
};

class Fit {
 public:
  Fit(std::vector<TrendRow> points, const Prior& prior, double stiffness)
      : points_(std::move(points)), prior_(prior), costs_(prior.mean) {
    for (std::size_t k = 0; k < trend_terms; ++k) {
      stiffness_[k] = std::pow(stiffness / prior.deviation[k], 2);
    }
  }

  /// Levenberg-Marquardt with iterative reweighting: the damping shrinks after a step that lowers
  /// the cost and grows after one that does not. Returns the logarithms of the costs.
  const TermValues& solve() {
    double damping = 1e-3;
    double now = cost(costs_);
    for (int i = 0; i < 200 && damping < 1e9; ++i) {
      const TermValues next = step(damping);
      const double then = cost(next);
      const bool better = then < now;
      const bool done = better && now - then < 1e-10 * now;
      damping *= better ? 0.3 : 10;
      if (!better) continue;
      costs_ = next;
      now = then;
      if (done) break;
    }
    return costs_;
  }

  /// Standard deviations of the logarithms.
  TermValues deviations() const {
    TermValues gradient{};
    Matrix curvature = normal(gradient);
    double sum = 0;
    for (const TrendRow& point : points_)
      sum += weight(residual(point, costs_)) * std::pow(residual(point, costs_), 2);
    const double variance = std::max(sum / static_cast<double>(points_.size()), 1e-4);
    // Errors of neighbouring sizes are correlated: four rows count as one independent observation.
    // A term that no row depends on stays as uncertain as its prior.
    const double of_a_row = 4 * variance;
    for (std::size_t k = 0; k < trend_terms; ++k) {
      curvature(k, k) += of_a_row / std::pow(prior_.deviation[k], 2) - stiffness_[k];
    }
    const Cholesky solver(curvature);
    TermValues deviation{};
    for (std::size_t k = 0; k < trend_terms; ++k) {
      std::vector<double> unit(trend_terms, 0.0);
      unit[k] = 1;
      deviation[k] = std::sqrt(of_a_row * solver.solve(unit)[k]);
    }
    return deviation;
  }

 private:
  static double value(const TrendRow& point, const TermValues& logs) {
    double sum = 0;
    for (std::size_t k = 0; k < trend_terms; ++k) sum += point.basis[k] * std::exp(logs[k]);
    return sum;
  }
  static double residual(const TrendRow& point, const TermValues& logs) {
    return std::log(value(point, logs)) - point.log_microseconds;
  }
  // The derivative of the soft L1 loss in cost(), over that of r^2.
  static double weight(double r) { return 1 / std::sqrt(1 + std::pow(r / robust_beyond, 2)); }

  double cost(const TermValues& logs) const {
    double sum = 0;
    for (const TrendRow& point : points_) {
      const double z = std::pow(residual(point, logs) / robust_beyond, 2);
      sum += point.trust * 2 * robust_beyond * robust_beyond * (std::sqrt(1 + z) - 1);
    }
    for (std::size_t k = 0; k < trend_terms; ++k) {
      sum += stiffness_[k] * std::pow(logs[k] - prior_.mean[k], 2);
    }
    return sum;
  }

  // The Gauss-Newton matrix and half the gradient of cost(). The derivative of a residual by the
  // logarithm of a cost is the share of that term in the whole time.
  Matrix normal(TermValues& gradient) const {
    Matrix matrix(trend_terms);
    for (const TrendRow& point : points_) {
      const double all = value(point, costs_);
      const double r = std::log(all) - point.log_microseconds;
      const double trusted = point.trust * weight(r);
      TermValues share{};
      for (std::size_t k = 0; k < trend_terms; ++k) {
        share[k] = point.basis[k] * std::exp(costs_[k]) / all;
      }
      for (std::size_t k = 0; k < trend_terms; ++k) {
        gradient[k] += trusted * r * share[k];
        for (std::size_t j = 0; j <= k; ++j) matrix(k, j) += trusted * share[k] * share[j];
      }
    }
    for (std::size_t k = 0; k < trend_terms; ++k) {
      matrix(k, k) += stiffness_[k];
      gradient[k] += stiffness_[k] * (costs_[k] - prior_.mean[k]);
    }
    return matrix;
  }

  TermValues step(double damping) const {
    TermValues gradient{};
    Matrix matrix = normal(gradient);
    for (std::size_t k = 0; k < trend_terms; ++k) matrix(k, k) *= 1 + damping;
    const std::vector<double> move =
        Cholesky(matrix).solve(std::vector<double>(gradient.begin(), gradient.end()));
    // Steps are limited to a factor of e^2, beyond which the linearisation means nothing.
    TermValues next = costs_;
    for (std::size_t k = 0; k < trend_terms; ++k) next[k] -= std::clamp(move[k], -2.0, 2.0);
    return next;
  }

  std::vector<TrendRow> points_;
  const Prior& prior_;
  TermValues costs_;
  TermValues stiffness_{};
};

}  // namespace

const std::array<TermInfo, trend_terms>& trend_term_infos() {
  static constexpr std::array<TermInfo, trend_terms> infos = {{
      {"start", "us"},
      {"node latency", "us per further rank of a node"},
      {"network latency", "us per doubling of the nodes"},
      {"ring latency", "us per further node"},
      {"node rate", "us per byte"},
      {"network rate", "us per byte"},
      {"through", "us per byte beyond two nodes"},
      {"whole", "us per byte and doubling of the nodes"},
      {"memory", "us per byte and further rank of a node"},
      {"chunks", "us per root of bytes"},
  }};
  return infos;
}

TermValues trend_basis(const Scale& scale, double bytes) {
  const double nodes = std::max(scale.nodes, 1);
  const double each = static_cast<double>(scale.ranks) / nodes;
  const double ranks = scale.ranks;
  const double doublings = std::log2(nodes);
  return {1,
          each - 1,
          doublings,
          nodes - 1,
          bytes * 2 * (each - 1) / each,
          nodes > 1 ? bytes * 2 * (ranks - 1) / ranks : 0,
          nodes > 2 ? bytes : 0,
          bytes * doublings,
          bytes * (each - 1),
          std::sqrt(bytes) * (1 + std::log2(ranks)) / 2};
}

Prior prior_for(const MethodKey& method) {
  const std::string name = lower(method.algorithm);
  const std::string library = lower(method.library);
  const bool ring = contains(name, "ring");
  const bool rounds_of_all = contains(name, "recursive_doubling") || contains(name, "_lat") ||
                             contains(name, "bine_l") || contains(name, "recdoub_l") ||
                             contains(name, "allgather_reduce") || contains(name, "one_shot");
  if (contains(library, "ccl") || contains(name, "nccl")) {
    // Start and latencies: NCCL 2.30.7, src/graph/tuning.cc, tree with LL: 6.8 us, twice 0.6 us per
    // further rank of a node, twice 5 us per doubling. Rates: A100 and NDR, as orders of magnitude.
    TermValues costs = {6.8, 1.2, 10, 0.5, 4.3e-6, 2e-5, 2e-7, 1e-7, 1e-8, 0.05};
    if (ring) costs[ring_latency] = 5.4;
    if (ring) costs[network_latency] = 3;
    return from_values(costs, {0.5, 0.8, 0.5, 1, 0.7, 1.5, 1.5, 1.5, 1.5, 1});
  }
  // Processors of 2015 to 2025 with adapters of 100 Gb/s, as orders of magnitude.
  TermValues costs = {2, 0.3, 1.5, 0.1, 2e-4, 4e-4, 1e-5, 1e-5, 1e-6, 0.03};
  if (ring) costs[ring_latency] = 2;
  if (rounds_of_all) costs[whole] = 4e-4;
  if (rounds_of_all) costs[network_rate] = 1e-5;
  return from_values(costs, {1.5, 1, 1, 1.5, 1, 1.5, 2, 2, 2, 1});
}

Trend::Trend(std::span<const MeasuredTime> rows, const Prior& prior,
             std::span<const double> trust) {
  std::vector<TrendRow> points;
  std::set<Scale> scales;
  for (const MeasuredTime& row : rows) {
    points.push_back({trend_basis(row.scale, static_cast<double>(row.bytes.count)),
                      std::log(row.time.count() * 1e6), trust.empty() ? 1 : trust[points.size()]});
    scales.insert(row.scale);
  }
  const double curve = static_cast<double>(rows.size()) /
                       static_cast<double>(std::max<std::size_t>(1, scales.size()));
  Fit fit(std::move(points), prior, prior_weight * std::sqrt(curve));
  const TermValues logs = fit.solve();
  const TermValues deviations = fit.deviations();
  for (std::size_t k = 0; k < trend_terms; ++k) {
    costs_[k] = std::exp(logs[k]);
    factors_[k] = std::exp(deviations[k]);
  }
}

TermValues Trend::terms(const Scale& scale, double bytes) const {
  TermValues terms = trend_basis(scale, bytes);
  for (std::size_t k = 0; k < trend_terms; ++k) terms[k] *= costs_[k] * 1e-6;
  return terms;
}

double Trend::log_time(const Scale& scale, double bytes) const {
  double sum = 0;
  for (const double term : terms(scale, bytes)) sum += term;
  return std::log(sum);
}

}  // namespace collbench

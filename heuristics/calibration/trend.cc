#include "heuristics/calibration/trend.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <Eigen/Cholesky>

#include "core/error.h"
#include "heuristics/structure/played_method.h"

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
  chunks,
  handed_on
};

constexpr double prior_weight = 0.02;
constexpr double robust_beyond = 0.5;  // of the logarithm of a time
/// us/B of adapters of 100 to 400 GB/s a node, which trees beyond two nodes cross once more.
constexpr double passed_on = 5e-6;
/// Bytes of a chunk of NCCL's LL, which goes to the next node when it is complete.
constexpr double whole_chunk = 32768;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

using Terms = Eigen::Array<double, trend_terms, 1>;
using TermColumn = Eigen::Matrix<double, trend_terms, 1>;
using TermMatrix = Eigen::Matrix<double, trend_terms, trend_terms>;
using TermRows = Eigen::Array<double, Eigen::Dynamic, trend_terms>;  // one for each measured time

Eigen::Map<const Terms> terms_of(const TermValues& values) {
  return Eigen::Map<const Terms>(values.data());
}

TermValues values_of(const Terms& terms) {
  TermValues values;
  Eigen::Map<Terms>(values.data()) = terms;
  return values;
}

Prior from_values(const TermValues& microseconds, const TermValues& deviation) {
  return {values_of(terms_of(microseconds).log()), deviation, true};
}

class Fit {
 public:
  Fit(std::span<const MeasuredTime> rows, const Prior& prior, std::span<const double> trust,
      double stiffness)
      : basis_(rows.size(), trend_terms),
        measured_(rows.size()),
        trust_(Eigen::ArrayXd::Ones(measured_.size())),
        mean_(terms_of(prior.mean)),
        deviation_(terms_of(prior.deviation)),
        stiffness_((stiffness / deviation_).square()),
        costs_(mean_) {
    for (Eigen::Index i = 0; i < measured_.size(); ++i) {
      const MeasuredTime& row = rows[static_cast<std::size_t>(i)];
      const auto bytes = static_cast<double>(row.bytes.count);
      basis_.row(i) = terms_of(trend_basis(row.scale, bytes, prior.goes_round)).transpose();
      measured_[i] = std::log(row.time.count() * 1e6);
    }
    if (!trust.empty()) trust_ = Eigen::Map<const Eigen::ArrayXd>(trust.data(), trust_.size());
  }

  /// Levenberg-Marquardt with iterative reweighting: the damping shrinks after a step that lowers
  /// the cost and grows after one that does not. Returns the logarithms of the costs.
  const Terms& solve() {
    double damping = 1e-3;
    double now = cost(costs_);
    for (int i = 0; i < 200 && damping < 1e9; ++i) {
      const Terms next = step(damping);
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
  Terms deviations() const {
    const Eigen::ArrayXd r = residuals(costs_);
    const double variance = std::max((weights(r) * r.square()).mean(), 1e-4);
    // Errors of neighbouring sizes are correlated: four rows count as one independent observation.
    // A term that no row depends on stays as uncertain as its prior.
    const double of_a_row = 4 * variance;
    TermMatrix curvature = shares().transpose() * weighted(r).matrix().asDiagonal() * shares();
    curvature.diagonal() += (of_a_row / deviation_.square()).matrix();
    const TermMatrix unit = TermMatrix::Identity();
    return (of_a_row * solution(curvature, unit).diagonal()).array().sqrt();
  }

 private:
  template <typename Right>
  static Right solution(const TermMatrix& matrix, const Right& right) {
    const Eigen::LLT<TermMatrix> solver(matrix);
    const Right found = solver.solve(right);
    require(solver.info() == Eigen::Success && found.allFinite(), "a trend needs times above 0");
    return found;
  }

  Eigen::ArrayXd residuals(const Terms& logs) const {
    return (basis_.matrix() * logs.exp().matrix()).array().log() - measured_;
  }
  // The derivative of the soft L1 loss in cost(), over that of r^2.
  static Eigen::ArrayXd weights(const Eigen::ArrayXd& r) {
    return (1 + (r / robust_beyond).square()).rsqrt();
  }
  Eigen::ArrayXd weighted(const Eigen::ArrayXd& r) const { return trust_ * weights(r); }

  double cost(const Terms& logs) const {
    const Eigen::ArrayXd z = (residuals(logs) / robust_beyond).square();
    return 2 * robust_beyond * robust_beyond * (trust_ * ((1 + z).sqrt() - 1)).sum() +
           (stiffness_ * (logs - mean_).square()).sum();
  }

  // The derivative of a residual by the logarithm of a cost: the share of that term in the whole
  // time.
  Eigen::Matrix<double, Eigen::Dynamic, trend_terms> shares() const {
    const TermRows times = basis_.rowwise() * costs_.exp().transpose();
    return (times.colwise() / times.rowwise().sum()).matrix();
  }

  // From the Gauss-Newton matrix and half the gradient of cost().
  Terms step(double damping) const {
    const Eigen::ArrayXd r = residuals(costs_);
    const auto share = shares();
    const Eigen::VectorXd trusted = weighted(r).matrix();
    TermMatrix matrix = share.transpose() * trusted.asDiagonal() * share;
    matrix.diagonal() += stiffness_.matrix();
    matrix.diagonal() *= 1 + damping;
    const TermColumn gradient = share.transpose() * trusted.cwiseProduct(r.matrix()) +
                                (stiffness_ * (costs_ - mean_)).matrix();
    // Steps are limited to a factor of e^2, beyond which the linearisation means nothing.
    return costs_ - solution(matrix, gradient).array().max(-2.0).min(2.0);
  }

  TermRows basis_;
  Eigen::ArrayXd measured_;  // logarithms of microseconds
  Eigen::ArrayXd trust_;
  Terms mean_;
  Terms deviation_;
  Terms stiffness_;
  Terms costs_;  // logarithms
};

}  // namespace

TermValues trend_basis(const Scale& scale, double bytes, bool goes_round) {
  const double nodes = std::max(scale.nodes, 1);
  const double each = static_cast<double>(scale.ranks) / nodes;
  const double ranks = scale.ranks;
  const double doublings = std::log2(nodes);
  return {1,
          each - 1,
          doublings,
          goes_round ? nodes - 1 : 0,
          bytes * 2 * (each - 1) / each,
          nodes > 1 ? bytes * 2 * (ranks - 1) / ranks : 0,
          nodes > 2 ? bytes : 0,
          bytes * doublings,
          bytes * (each - 1),
          std::sqrt(bytes) * (1 + std::log2(ranks)) / 2,
          goes_round ? 0 : doublings * bytes / (1 + std::pow(bytes / whole_chunk, 3))};
}

Prior prior_for(const MethodKey& method) {
  const std::string name = normalized_name(method.algorithm);
  const std::string library = normalized_name(method.library);
  const bool ring = contains(name, "ring");
  if (contains(library, "ccl") || contains(name, "nccl")) {
    // Start and latencies: NCCL 2.30.7, src/graph/tuning.cc, tree with LL: 6.8 us, twice 0.6 us per
    // further rank of a node, twice 5 us per doubling. Rates: A100 and NDR, as orders of magnitude.
    // A byte of LL is two on the wire, up the tree and down.
    TermValues costs = {6.8, 1.2, 10, 0.5, 4.3e-6, 2e-5, 2e-7, 1e-7, 1e-8, 0.05, 5e-5};
    if (ring) costs[ring_latency] = 5.4;
    if (ring) costs[network_latency] = 3;
    Prior prior = from_values(costs, {0.5, 0.8, 0.5, 1, 0.7, 1.5, 1.5, 1.5, 1.5, 1, 1.5});
    prior.goes_round = ring;
    return prior;
  }
  // Processors of 2015 to 2025 with adapters of 100 Gb/s, as orders of magnitude.
  TermValues costs = {2, 0.3, 1.5, 0.1, 2e-4, 4e-4, 1e-5, 1e-5, 1e-6, 0.03, 5e-5};
  if (ring) costs[ring_latency] = 2;
  return from_values(costs, {1.5, 1, 1, 1.5, 1, 1.5, 2, 2, 2, 1, 1.5});
}

Trend::Trend(std::span<const MeasuredTime> rows, Prior prior, std::span<const double> trust)
    : goes_round_(prior.goes_round) {
  std::set<Scale> scales;
  int most_nodes = 0;
  for (const MeasuredTime& row : rows) {
    scales.insert(row.scale);
    most_nodes = std::max(most_nodes, row.scale.nodes);
  }
  if (!goes_round_ && most_nodes <= 2) prior.mean[through] = std::log(passed_on);
  const double curve = static_cast<double>(rows.size()) /
                       static_cast<double>(std::max<std::size_t>(1, scales.size()));
  Fit fit(rows, prior, trust, prior_weight * std::sqrt(curve));
  costs_ = values_of(fit.solve().exp());
  factors_ = values_of(fit.deviations().exp());
}

TermValues Trend::terms(const Scale& scale, double bytes) const {
  return values_of(terms_of(trend_basis(scale, bytes, goes_round_)) * terms_of(costs_) * 1e-6);
}

double Trend::log_time(const Scale& scale, double bytes) const {
  return std::log(terms_of(terms(scale, bytes)).sum());
}

}  // namespace collbench

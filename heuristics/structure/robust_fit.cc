#include "heuristics/structure/robust_fit.h"

#include <cmath>

#include <Eigen/Cholesky>

#include "core/error.h"

namespace collbench {
namespace {

constexpr int most_steps = 40;
constexpr double nudge = 1e-4;      // of a logarithm, for derivatives
constexpr double longest_step = 1;  // of a logarithm, beyond which the linearisation means nothing
constexpr double correlated = 4;    // rows that count as one independent observation

class ConstantFit {
 public:
  ConstantFit(std::span<const ConstantPrior> priors, std::span<const double> weights,
              const LogErrors& log_errors, double scale)
      : log_errors_(log_errors),
        scale_(scale),
        row_weights_(Eigen::Map<const Eigen::ArrayXd>(weights.data(), as_index(weights.size()))),
        mean_(as_index(priors.size())),
        stiffness_(as_index(priors.size())) {
    for (Eigen::Index k = 0; k < size(); ++k) {
      const ConstantPrior& prior = priors[static_cast<std::size_t>(k)];
      mean_[k] = std::log(prior.value);
      stiffness_[k] = 1 / (prior.deviation * prior.deviation);
    }
    logs_ = mean_;
  }

  Eigen::Index size() const { return mean_.size(); }
  void start_at(std::span<const FittedConstant> values) {
    for (std::size_t k = 0; k < values.size(); ++k) logs_[as_index(k)] = std::log(values[k].value);
  }

  /// The damping shrinks after a step that lowers the cost and grows after one that does not.
  const Eigen::VectorXd& solve() {
    double damping = 1e-3;
    Eigen::ArrayXd errors = errors_at(logs_);
    double now = cost(logs_, errors);
    require(std::isfinite(now), "times and sizes to fit must be numbers above 0");
    linearize(errors);
    for (int i = 0; i < most_steps && damping < 1e8; ++i) {
      const Eigen::VectorXd next = step(errors, damping);
      const Eigen::ArrayXd then_errors = errors_at(next);
      const double then = cost(next, then_errors);
      const bool better = then < now;
      damping *= better ? 0.3 : 8;
      if (!better) continue;
      const bool done = now - then < 1e-5 * now;
      logs_ = next;
      errors = then_errors;
      now = then;
      if (done) break;
      linearize(errors);
    }
    return logs_;
  }

  /// Standard deviations of the logarithms, from the curvature at the solution.
  Eigen::VectorXd deviations() {
    const Eigen::ArrayXd errors = errors_at(logs_);
    linearize(errors);
    Eigen::MatrixXd curvature =
        slopes_.transpose() * (weights(errors) / correlated).matrix().asDiagonal() * slopes_;
    curvature.diagonal() += stiffness_.matrix();
    const Eigen::MatrixXd inverse =
        curvature.llt().solve(Eigen::MatrixXd::Identity(size(), size()));
    return inverse.diagonal().cwiseSqrt();
  }

 private:
  static Eigen::Index as_index(std::size_t k) { return static_cast<Eigen::Index>(k); }

  Eigen::ArrayXd errors_at(const Eigen::VectorXd& logs) const {
    const Eigen::VectorXd values = logs.array().exp().matrix();
    Eigen::ArrayXd errors(row_weights_.size());
    log_errors_({values.data(), static_cast<std::size_t>(values.size())},
                {errors.data(), static_cast<std::size_t>(errors.size())});
    return errors / scale_;
  }

  double cost(const Eigen::VectorXd& logs, const Eigen::ArrayXd& errors) const {
    return (stiffness_ * (logs - mean_).array().square()).sum() +
           (row_weights_ * 2 * ((1 + errors.square()).sqrt() - 1)).sum();
  }

  /// The derivative of the loss over that of the square.
  Eigen::ArrayXd weights(const Eigen::ArrayXd& errors) const {
    return (1 + errors.square()).rsqrt() * row_weights_;
  }

  void linearize(const Eigen::ArrayXd& errors) {
    slopes_.resize(errors.size(), size());
    for (Eigen::Index k = 0; k < size(); ++k) {
      Eigen::VectorXd moved = logs_;
      moved[k] += nudge;
      slopes_.col(k) = ((errors_at(moved) - errors) / nudge).matrix();
    }
  }

  Eigen::VectorXd step(const Eigen::ArrayXd& errors, double damping) const {
    const Eigen::VectorXd weight = weights(errors).matrix();
    Eigen::MatrixXd matrix = slopes_.transpose() * weight.asDiagonal() * slopes_;
    matrix.diagonal() += stiffness_.matrix();
    const Eigen::VectorXd gradient = slopes_.transpose() * weight.cwiseProduct(errors.matrix()) +
                                     (stiffness_ * (logs_ - mean_).array()).matrix();
    matrix.diagonal() *= 1 + damping;
    const Eigen::VectorXd move = matrix.llt().solve(gradient);
    return logs_ - move.cwiseMax(-longest_step).cwiseMin(longest_step);
  }

  const LogErrors& log_errors_;
  double scale_;
  Eigen::ArrayXd row_weights_;
  Eigen::VectorXd mean_;
  Eigen::ArrayXd stiffness_;
  Eigen::VectorXd logs_;
  Eigen::MatrixXd slopes_;  // of errors by logarithms, at logs_
};

}  // namespace

std::vector<FittedConstant> fit_robustly(std::span<const ConstantPrior> priors,
                                         std::span<const double> weights, const LogErrors& errors,
                                         double scale, std::span<const FittedConstant> start) {
  ConstantFit fit(priors, weights, errors, scale);
  fit.start_at(start);
  const Eigen::VectorXd logs = fit.solve();
  const Eigen::VectorXd deviations = fit.deviations();
  std::vector<FittedConstant> constants;
  for (Eigen::Index k = 0; k < fit.size(); ++k) {
    constants.push_back({std::exp(logs[k]), std::exp(deviations[k])});
  }
  return constants;
}

}  // namespace collbench

#include "heuristics/structure/joint_fit.h"

#include <cmath>

namespace collbench {

std::vector<FittedConstant> fit_constants(const NetworkModel& model,
                                          std::span<const PlayedRow> rows,
                                          std::span<const FittedConstant> start) {
  constexpr double error_scale = 0.1;
  std::vector<ConstantPrior> priors;
  for (const NetworkConstant& constant : model.constants) {
    priors.push_back({constant.prior, constant.deviation});
  }
  std::vector<double> weights;
  for (const PlayedRow& row : rows) weights.push_back(row.weight);
  const LogErrors log_errors = [&](std::span<const double> values, std::span<double> errors) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const PlayedRow& row = rows[i];
      errors[i] = std::log(model.microseconds(row.played, row.scale, row.bytes, values)) -
                  row.log_microseconds;
    }
  };
  return fit_robustly(priors, weights, log_errors, error_scale, start);
}

double log_microseconds(const NetworkModel& model, std::span<const FittedConstant> constants,
                        const PlayedMethod& played, const Scale& scale, double bytes) {
  std::vector<double> values;
  values.reserve(constants.size());
  for (const FittedConstant& constant : constants) values.push_back(constant.value);
  return std::log(model.microseconds(played, scale, bytes, values));
}

}  // namespace collbench

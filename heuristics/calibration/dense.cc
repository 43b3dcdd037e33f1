#include "heuristics/calibration/dense.h"

#include <cassert>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace collbench {

Cholesky::Cholesky(Matrix matrix) : lower_(std::move(matrix)) {
  const std::size_t n = lower_.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      double sum = lower_(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= lower_(i, k) * lower_(j, k);
      if (i == j) {
        require(sum > 0, "a system of equations is not positive definite");
        lower_(j, j) = std::sqrt(sum);
      } else {
        lower_(i, j) = sum / lower_(j, j);
      }
    }
  }
}

std::vector<double> Cholesky::half_solve(std::vector<double> b) const {
  assert(b.size() == lower_.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= lower_(i, k) * b[k];
    b[i] /= lower_(i, i);
  }
  return b;
}

std::vector<double> Cholesky::solve(std::vector<double> b) const {
  b = half_solve(std::move(b));
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < b.size(); ++k) b[i] -= lower_(k, i) * b[k];
    b[i] /= lower_(i, i);
  }
  return b;
}

}  // namespace collbench

// Small dense linear algebra for fits: symmetric positive definite systems of up to some hundred
// unknowns.
#pragma once

#include <cstddef>
#include <vector>

namespace collbench {

/// A square matrix, row by row.
class Matrix {
 public:
  explicit Matrix(std::size_t size) : size_(size), values_(size * size) {}
  std::size_t size() const { return size_; }
  double& operator()(std::size_t row, std::size_t column) { return values_[row * size_ + column]; }
  double operator()(std::size_t row, std::size_t column) const {
    return values_[row * size_ + column];
  }

 private:
  std::size_t size_;
  std::vector<double> values_;
};

/// A = L L^T, of which only the lower half of A is read. n^3/6 multiplications.
class Cholesky {
 public:
  /// Throws InvalidArgument if the matrix is not positive definite.
  explicit Cholesky(Matrix matrix);
  /// x with A x = b. Requires a b of the size of A.
  std::vector<double> solve(std::vector<double> b) const;
  /// y with L y = b, so that b^T A^-1 b = |y|^2.
  std::vector<double> half_solve(std::vector<double> b) const;

 private:
  Matrix lower_;
};

}  // namespace collbench

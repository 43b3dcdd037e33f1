// The matrix product of the plain engine: c += a b.
//
// A tile of c stays in registers while the depth is walked, so that b is read once for several
// rows. One source, matrix_product.inc, is compiled for each instruction set, and the CPU
// decides when the program runs. The rounding depends on the instruction set (fused multiply-add)
// and not on the thread, the time or the alignment: replicas on one machine compute alike.
#pragma once

#include <cstdint>

namespace collbench {

/// A matrix whose element (row, column) is at data[row * row_step + column * column_step], so that
/// a transposed one is the same memory with the steps exchanged.
template <class T>
struct Factor {
  const T* data = nullptr;
  std::int64_t row_step = 0;
  std::int64_t column_step = 0;
};

/// c (rows x columns) += a (rows x depth) b (depth x columns); b and c are row-major and do not
/// overlap.
template <class T>
void add_product(Factor<T> a, const T* b, T* c, std::int64_t rows, std::int64_t columns,
                 std::int64_t depth);

/// The transpose of a row-major matrix.
template <class T>
void transpose(const T* from, T* to, std::int64_t rows, std::int64_t columns);

}  // namespace collbench

#include "training/matrix_product.h"

#include <algorithm>

namespace collbench {
namespace {

constexpr std::int64_t tile_rows = 4;
template <class T>
constexpr std::int64_t tile_columns = static_cast<std::int64_t>(32 / sizeof(T));

/// One tile of fixed size, whose sums the compiler keeps in registers.
template <class T>
void add_tile(Factor<T> a, const T* __restrict b, T* __restrict c, std::int64_t columns,
              std::int64_t depth) {
  T sums[tile_rows][tile_columns<T>];
  for (int i = 0; i < tile_rows; ++i) {
    for (int j = 0; j < tile_columns<T>; ++j) sums[i][j] = c[i * columns + j];
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const T* __restrict line = b + k * columns;
    const T* first = a.data + k * a.column_step;
    for (int i = 0; i < tile_rows; ++i) {
      const T factor = first[i * a.row_step];
      for (int j = 0; j < tile_columns<T>; ++j) sums[i][j] += factor * line[j];
    }
  }
  for (int i = 0; i < tile_rows; ++i) {
    for (int j = 0; j < tile_columns<T>; ++j) c[i * columns + j] = sums[i][j];
  }
}

/// What is left at the lower and right edges.
template <class T>
void add_edge(Factor<T> a, const T* __restrict b, T* __restrict c, std::int64_t rows,
              std::int64_t width, std::int64_t columns, std::int64_t depth) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const T factor = a.data[i * a.row_step + k * a.column_step];
      for (std::int64_t j = 0; j < width; ++j) c[i * columns + j] += factor * b[k * columns + j];
    }
  }
}

}  // namespace

template <class T>
void add_product(Factor<T> a, const T* b, T* c, std::int64_t rows, std::int64_t columns,
                 std::int64_t depth) {
  const std::int64_t whole_rows = rows / tile_rows * tile_rows;
  const std::int64_t whole_columns = columns / tile_columns<T> * tile_columns<T>;
  for (std::int64_t j = 0; j < whole_columns; j += tile_columns<T>) {
    for (std::int64_t i = 0; i < whole_rows; i += tile_rows) {
      const Factor<T> part{a.data + i * a.row_step, a.row_step, a.column_step};
      add_tile(part, b + j, c + i * columns + j, columns, depth);
    }
  }
  add_edge(a, b + whole_columns, c + whole_columns, whole_rows, columns - whole_columns, columns,
           depth);
  const Factor<T> rest{a.data + whole_rows * a.row_step, a.row_step, a.column_step};
  add_edge(rest, b, c + whole_rows * columns, rows - whole_rows, columns, columns, depth);
}

template <class T>
void transpose(const T* from, T* to, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t block = 16;
  for (std::int64_t top = 0; top < rows; top += block) {
    for (std::int64_t left = 0; left < columns; left += block) {
      for (std::int64_t i = top; i < std::min(rows, top + block); ++i) {
        for (std::int64_t j = left; j < std::min(columns, left + block); ++j) {
          to[j * rows + i] = from[i * columns + j];
        }
      }
    }
  }
}

template void add_product(Factor<float>, const float*, float*, std::int64_t, std::int64_t,
                          std::int64_t);
template void add_product(Factor<double>, const double*, double*, std::int64_t, std::int64_t,
                          std::int64_t);
template void transpose(const float*, float*, std::int64_t, std::int64_t);
template void transpose(const double*, double*, std::int64_t, std::int64_t);

}  // namespace collbench

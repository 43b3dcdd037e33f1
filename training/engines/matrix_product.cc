#include "training/engines/matrix_product.h"

#include <algorithm>
#include <type_traits>

#include "training/engines/layer_kernels.h"

namespace collbench {

template <class T>
void add_product(Factor<T> a, const T* b, T* c, std::int64_t rows, std::int64_t columns,
                 std::int64_t depth) {
  if constexpr (std::is_same_v<T, float>) {
    layer_kernels().product_f32(a, b, c, rows, columns, depth);
  } else {
    layer_kernels().product_f64(a, b, c, rows, columns, depth);
  }
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

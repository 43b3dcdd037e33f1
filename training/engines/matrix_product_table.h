// The matrix product of one instruction set, as a pair of functions; see matrix_product.h.
#pragma once

#include <cstdint>
#include <vector>

#include "training/engines/matrix_product.h"

namespace collbench {

struct ProductTable {
  void (*f32)(Factor<float> a, const float* b, float* c, std::int64_t rows, std::int64_t columns,
              std::int64_t depth);
  void (*f64)(Factor<double> a, const double* b, double* c, std::int64_t rows, std::int64_t columns,
              std::int64_t depth);
};

const ProductTable& baseline_products();
/// May be called where the CPU has AVX2 and FMA, or AVX-512F. Only on x86-64.
const ProductTable& avx2_products();
const ProductTable& avx512_products();

/// Those that this CPU can run, the best last, and never none. A file for x86-64 and one for the
/// others define it.
std::vector<ProductTable> usable_products();

}  // namespace collbench

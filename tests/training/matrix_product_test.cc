#include "training/engines/matrix_product.h"

#include <vector>

#include <gtest/gtest.h>

#include "training/engines/layer_kernels.h"

namespace collbench {
namespace {

/// Small whole numbers, so that every order of the additions gives the same sum.
template <class T>
std::vector<T> numbers_from(std::int64_t count, int from) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>((i * 7 + from) % 11 - 5));
  }
  return values;
}

template <class T>
void expect_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool transposed,
                    void (*product)(Factor<T>, const T*, T*, std::int64_t, std::int64_t,
                                    std::int64_t)) {
  const std::vector<T> a = numbers_from<T>(rows * depth, 1);
  const std::vector<T> b = numbers_from<T>(depth * columns, 2);
  std::vector<T> c = numbers_from<T>(rows * columns, 3);
  const Factor<T> factor{a.data(), transposed ? 1 : depth, transposed ? rows : 1};
  std::vector<T> expected = c;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) {
      expected[static_cast<std::size_t>(i)] +=
          factor.data[i / columns * factor.row_step + k * factor.column_step] *
          b[static_cast<std::size_t>(k * columns + i % columns)];
    }
  }
  product(factor, b.data(), c.data(), rows, columns, depth);
  EXPECT_EQ(c, expected) << rows << " x " << columns << " x " << depth;
}

TEST(MatrixProductTest, IsTheDefinitionForTilesAndEdges) {
  for (const LayerKernels& kernels : usable_layer_kernels()) {
    for (const std::int64_t rows : {1, 3, 8, 19}) {
      for (const std::int64_t columns : {1, 7, 8, 32, 45}) {
        for (const std::int64_t depth : {0, 1, 5}) {
          for (const bool transposed : {false, true}) {
            expect_product<float>(rows, columns, depth, transposed, kernels.product_f32);
            expect_product<double>(rows, columns, depth, transposed, kernels.product_f64);
          }
        }
      }
    }
  }
}

TEST(MatrixProductTest, TransposesEdgesToo) {
  const std::vector<float> from = numbers_from<float>(33 * 18, 4);
  std::vector<float> to(from.size());
  transpose(from.data(), to.data(), 33, 18);
  for (std::size_t i = 0; i < 33; ++i) {
    for (std::size_t j = 0; j < 18; ++j) ASSERT_EQ(to[j * 33 + i], from[i * 18 + j]);
  }
}

}  // namespace
}  // namespace collbench

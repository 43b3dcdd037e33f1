// The matrix product for x86 CPUs with AVX2 and FMA.
#include "training/engines/matrix_product_table.h"

namespace collbench {
namespace {
constexpr int vector_bytes = 32;
constexpr int tile_rows = 4;
#include "training/engines/matrix_product_tile.inc"
}  // namespace

const ProductTable& avx2_products() { return table; }

}  // namespace collbench

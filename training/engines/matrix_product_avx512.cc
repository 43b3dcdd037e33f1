// The matrix product for x86 CPUs with AVX-512F.
#include "training/engines/matrix_product_table.h"

namespace collbench {
namespace {
constexpr int vector_bytes = 64;
constexpr int tile_rows = 8;
#include "training/engines/matrix_product_tile.inc"
}  // namespace

const ProductTable& avx512_products() { return table; }

}  // namespace collbench

// The matrix product for any CPU of the target.
#include "training/engines/matrix_product_table.h"

namespace collbench {
namespace {
constexpr int vector_bytes = 16;
constexpr int tile_rows = 4;
#include "training/engines/matrix_product_tile.inc"
}  // namespace

const ProductTable& baseline_products() { return table; }

}  // namespace collbench

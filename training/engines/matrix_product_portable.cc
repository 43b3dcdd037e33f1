// The one matrix product of CPUs other than x86.
#include "training/engines/matrix_product_table.h"

namespace collbench {

std::vector<ProductTable> usable_products() { return {baseline_products()}; }

}  // namespace collbench

// Which matrix products an x86 CPU can run.
#include "training/engines/matrix_product_table.h"

namespace collbench {

std::vector<ProductTable> usable_products() {
  __builtin_cpu_init();
  std::vector<ProductTable> tables{baseline_products()};
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx2) tables.push_back(avx2_products());
  if (avx2 && __builtin_cpu_supports("avx512f") != 0) tables.push_back(avx512_products());
  return tables;
}

}  // namespace collbench

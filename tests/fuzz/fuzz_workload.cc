// Fuzzes the reader of workload tables: any text is either a table that survives being written, or
// an InvalidArgument that names it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "training/workloads/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const std::string table = collbench::to_table(collbench::parse_workload(text, "fuzz"));
    if (collbench::to_table(collbench::parse_workload(table, "fuzz")) != table) std::abort();
  } catch (const collbench::InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("workload fuzz", 0) != 0) std::abort();
  }
  return 0;
}

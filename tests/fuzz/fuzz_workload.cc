// Fuzzes the reader of workload tables: any text is either a table that survives being written, or
// an InvalidArgument that names it.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "training/workloads/workload.h"

FUZZ_TARGET(workload, text) {
  try {
    const std::string table = collbench::to_table(collbench::parse_workload(text, "fuzz"));
    if (collbench::to_table(collbench::parse_workload(table, "fuzz")) != table) std::abort();
  } catch (const collbench::InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("workload fuzz", 0) != 0) std::abort();
  }
}

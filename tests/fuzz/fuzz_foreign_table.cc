// Fuzzes the readers of other benchmarks' tables: any text is a table or an InvalidArgument.
#include "tests/fuzz/fuzz_target.h"

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"

FUZZ_TARGET(foreign_table, input) {
  try {
    collbench::read_foreign(input, "fuzz", {.ranks = 8, .nodes = 2});
  } catch (const collbench::InvalidArgument&) {
    // Not a table.
  }
}

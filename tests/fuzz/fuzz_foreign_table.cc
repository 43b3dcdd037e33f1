// Fuzzes the readers of other benchmarks' tables: any text is a table or an InvalidArgument.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    collbench::read_foreign({reinterpret_cast<const char*>(data), size}, "fuzz",
                            {.ranks = 8, .nodes = 2});
  } catch (const collbench::InvalidArgument&) {
    // Not a table.
  }
  return 0;
}

// The importer of lists of directed links on any bytes.
#include "tests/fuzz/fuzz_topology_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return collbench::check_import(collbench::from_edge_list, data, size);
}

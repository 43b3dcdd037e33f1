// Fuzzes topologies as the command line names them: any text is a machine that seats the workers,
// or an InvalidArgument.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "topologies/specification.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits >= 4 || c == '/') return 0;  // large networks take long, files may be anything
  }
  try {
    if (collbench::machine(text, 5).topology.hosts() < 5) std::abort();
  } catch (const collbench::InvalidArgument&) {
  }
  return 0;
}

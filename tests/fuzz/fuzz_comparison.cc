// Fuzzes comparisons as JSON: any text is either a comparison, which is written and read again the
// same, or an InvalidArgument.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/verdicts/verdict_json.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const std::string written = collbench::to_json(collbench::comparison_from_json(text));
    if (collbench::to_json(collbench::comparison_from_json(written)) != written) std::abort();
  } catch (const collbench::InvalidArgument&) {
  }
  return 0;
}

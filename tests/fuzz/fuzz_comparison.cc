// Fuzzes comparisons as JSON: any text is either a comparison, which is written and read again the
// same, or an InvalidArgument.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "bench/verdicts/verdict_json.h"
#include "core/error.h"

FUZZ_TARGET(comparison, input) {
  const std::string text(input);
  try {
    const std::string written = collbench::to_json(collbench::comparison_from_json(text));
    if (collbench::to_json(collbench::comparison_from_json(written)) != written) std::abort();
  } catch (const collbench::InvalidArgument&) {
  }
}

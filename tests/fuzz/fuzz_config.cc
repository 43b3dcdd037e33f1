// Fuzzes configuration files: any text is either settings or an InvalidArgument that names a line.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "cli/settings.h"
#include "core/error.h"

FUZZ_TARGET(config, text) {
  try {
    for (const auto& entry : collbench::parse_config(text, "fuzz.toml")) {
      if (entry.line < 1) std::abort();
    }
  } catch (const collbench::InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("fuzz.toml:", 0) != 0) std::abort();
  }
}

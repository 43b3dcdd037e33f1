// Fuzzes configuration files: any text is either settings or an InvalidArgument that names a line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/config_file.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& entry : collbench::parse_config(text, "fuzz.toml")) {
      if (entry.line < 1) std::abort();
    }
  } catch (const collbench::InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("fuzz.toml:", 0) != 0) std::abort();
  }
  return 0;
}

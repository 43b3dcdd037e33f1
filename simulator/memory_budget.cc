#include "simulator/memory_budget.h"

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"

namespace collbench {

void require_memory(std::size_t bytes, const std::string& what) {
  if (bytes < std::size_t{16} << 20) return;
  const auto available = static_cast<std::size_t>(available_memory().count);
  if (bytes <= available - available / 8) return;
  const auto text = [](std::size_t n) {
    return fmt::format("{:.3g} GiB", static_cast<double>(n) / (1 << 30));
  };
  throw InvalidArgument(
      fmt::format("{} would need {} more memory, but only {} are available; use "
                  "fewer ranks, or --engine quotient or model",
                  what, text(bytes), text(available)));
}

}  // namespace collbench

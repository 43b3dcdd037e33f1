#include "simulator/memory_budget.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/error.h"
#include "core/units.h"

namespace collbench {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// The number after `key` in a file of lines "key number unit", in units of `scale` bytes.
std::size_t value_of(const char* file, const std::string& key, std::size_t scale) {
  std::ifstream in(file);
  std::string word;
  std::size_t number = 0;
  while (in >> word) {
    if (word == key && in >> number) return number * scale;
  }
  return unlimited;
}

std::size_t number_in(const char* file) {
  std::ifstream in(file);
  std::size_t number = 0;
  return in >> number ? number : unlimited;  // "max" is no number
}

std::size_t minus(std::size_t limit, std::size_t used) {
  if (limit == unlimited || used == unlimited) return unlimited;
  return limit > used ? limit - used : 0;
}

}  // namespace

std::size_t available_memory() {
  const std::size_t machine = value_of("/proc/meminfo", "MemAvailable:", 1024);
  const std::size_t group =
      minus(number_in("/sys/fs/cgroup/memory.max"), number_in("/sys/fs/cgroup/memory.current"));
  rlimit limit{};
  std::size_t own = unlimited;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    own = minus(limit.rlim_cur, value_of("/proc/self/status", "VmSize:", 1024));
  }
  return std::min({machine, group, own});
}

void require_memory(std::size_t bytes, const std::string& what) {
  if (bytes < std::size_t{16} << 20) return;
  const std::size_t available = available_memory();
  if (available == unlimited || bytes <= available - available / 8) return;
  const auto text = [](std::size_t n) {
    return fmt::format("{:.3g} GiB", static_cast<double>(n) / (1 << 30));
  };
  throw InvalidArgument(
      fmt::format("{} would need {} more memory, but only {} are available; use "
                  "fewer ranks, or --engine quotient or model",
                  what, text(bytes), text(available)));
}

}  // namespace collbench

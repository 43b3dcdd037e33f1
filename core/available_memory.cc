#include "core/available_memory.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/cgroup.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"

namespace collbench {
namespace {

using Amount = std::optional<std::int64_t>;

// The number of kibibytes after `key` in a file of lines "key: number kB".
Amount kibibytes_of(const char* file, const std::string& key) {
  const std::string text = value_in_file(file, key);
  const Amount number = integer_in(text.substr(0, text.find(' ')));
  return number ? Amount(*number * 1024) : Amount();
}

Amount left_of(Amount limit, Amount used) {
  if (!limit || !used) return {};
  return std::max<std::int64_t>(*limit - *used, 0);
}

}  // namespace

Bytes available_memory() {
  rlimit limit{};
  Amount own;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    own = left_of(static_cast<std::int64_t>(limit.rlim_cur),
                  kibibytes_of("/proc/self/status", "VmSize"));
  }
  Bytes least{std::numeric_limits<std::int64_t>::max()};
  for (const Amount& amount : {kibibytes_of("/proc/meminfo", "MemAvailable"), own,
                               memory_left_in(cgroup_folders("memory"))}) {
    if (amount) least.count = std::min(least.count, *amount);
  }
  return least;
}

void require_available(Bytes needed, const std::string& subject) {
  const Bytes available = available_memory();
  if (needed <= available) return;
  throw TransportError(fmt::format("{} need at least {} of memory; {} are available", subject,
                                   rounded(needed), rounded(available)));
}

}  // namespace collbench

#include "core/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/error.h"

namespace collbench {
namespace {

using Amount = std::optional<std::int64_t>;

// The number of kibibytes after `key` in a file of lines "key number kB".
Amount kibibytes_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  std::int64_t number = 0;
  while (in >> word) {
    if (word == key && in >> number) return number * 1024;
  }
  return {};
}

Amount amount_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t number = 0;
  return in >> number ? Amount(number) : Amount();  // "max" is no number
}

Amount left_of(Amount limit, Amount used) {
  if (!limit || !used) return {};
  return std::max<std::int64_t>(*limit - *used, 0);
}

}  // namespace

Bytes available_memory() {
  const std::string group = cgroup_folder();
  rlimit limit{};
  Amount own;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    own = left_of(static_cast<std::int64_t>(limit.rlim_cur),
                  kibibytes_of("/proc/self/status", "VmSize:"));
  }
  Bytes least{std::numeric_limits<std::int64_t>::max()};
  for (const Amount& amount :
       {kibibytes_of("/proc/meminfo", "MemAvailable:"), own,
        left_of(amount_in(group + "/memory.max"), amount_in(group + "/memory.current"))}) {
    if (amount) least.count = std::min(least.count, *amount);
  }
  return least;
}

void require_available(Bytes needed, const std::string& subject) {
  const Bytes available = available_memory();
  if (needed <= available) return;
  const auto gibibytes = [](Bytes size) { return static_cast<double>(size.count) * 0x1p-30; };
  throw Unavailable(fmt::format("{} need at least {:.1f} GiB of memory; {:.1f} GiB are available",
                                subject, gibibytes(needed), gibibytes(available)));
}

std::string cgroup_folder() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) return "/sys/fs/cgroup" + line.substr(3);
  }
  return "";
}

}  // namespace collbench

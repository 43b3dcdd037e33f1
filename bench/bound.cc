#include "bench/bound.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/environment.h"
#include "transports/memory_limit.h"

namespace collbench {

using namespace literals;

std::optional<Bound> MemoryBounds::operator()(const Case& which) {
  if (which.bytes < 64_KiB || which.workers < 2) return {};
  const int threads = std::min(which.workers, usable_cores());
  const Bytes most{std::min((256_MiB).count, available_memory().count / 4)};
  const Bytes working_set = std::min(which.bytes * which.workers, most);
  const auto [found, is_new] = measured_.try_emplace({threads, working_set.count});
  if (is_new) found->second = measure_memory_bandwidth(threads, working_set, Seconds{0.1});
  const Bytes moved = which.bytes * 2 * which.workers;
  return Bound{moved / found->second,
               fmt::format("memory: 2 N M bytes at {} measured here", to_string(found->second))};
}

}  // namespace collbench

#include "training/data/sharding.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::string_view names[] = {"auto", "off", "file", "data"};  // by AutoShard

}  // namespace

AutoShard parse_auto_shard(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return static_cast<AutoShard>(index_of("sharding", lower, names));
}

std::string to_string(AutoShard policy) {
  return std::string(names[static_cast<std::uint8_t>(policy)]);
}

std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int workers,
                                                 int replicas_per_worker, int worker) {
  const int replicas = workers * replicas_per_worker;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(replicas), global_batch / replicas);
  for (std::int64_t i = 0; i < global_batch % replicas; ++i) ++sizes[static_cast<std::size_t>(i)];
  std::rotate(sizes.begin(), sizes.begin() + std::ptrdiff_t{worker} * replicas_per_worker,
              sizes.end());
  return sizes;
}

std::int64_t data_slice(std::int64_t batch, int replicas, int replica) {
  const std::int64_t slice = (batch + replicas - 1) / replicas;
  return std::clamp<std::int64_t>(batch - replica * slice, 0, slice);
}

std::int64_t per_replica_batch(std::int64_t global_batch, int replicas) {
  require(global_batch % replicas == 0,
          fmt::format("The `global_batch_size` {} is not divisible by `num_replicas_in_sync` {}",
                      global_batch, replicas));
  return global_batch / replicas;
}

}  // namespace collbench

#include "algorithms/collective.h"

#include <array>
#include <cassert>

#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 5> names_of_collectives{"all-reduce", "reduce-scatter",
                                                               "all-gather", "broadcast", "reduce"};

}  // namespace

std::span<const std::string_view> collective_names() { return names_of_collectives; }

std::string_view to_string(CollectiveKind kind) {
  return names_of_collectives[static_cast<std::size_t>(kind)];
}

CollectiveKind parse_collective(std::string_view name) {
  return static_cast<CollectiveKind>(require_known(
      "collective", name, {names_of_collectives.begin(), names_of_collectives.end()}));
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce;
}

bool adds(CollectiveKind kind) {
  return kind != CollectiveKind::all_gather && kind != CollectiveKind::broadcast;
}

Chunks held_before(const Collective& collective, Rank rank, int ranks, int chunks) {
  if (collective.kind == CollectiveKind::all_gather) {
    return {chunks / ranks * rank, chunks / ranks};
  }
  const bool only_root = collective.kind == CollectiveKind::broadcast;
  return {0, only_root && rank != collective.root ? 0 : chunks};
}

Chunks held_after(const Collective& collective, Rank rank, int ranks, int chunks) {
  if (collective.kind == CollectiveKind::reduce_scatter) {
    return {chunks / ranks * rank, chunks / ranks};
  }
  const bool only_root = collective.kind == CollectiveKind::reduce;
  return {0, only_root && rank != collective.root ? 0 : chunks};
}

Rank source_of(const Collective& collective, int chunk, int ranks, int chunks) {
  assert(!adds(collective.kind));
  return collective.kind == CollectiveKind::broadcast ? collective.root : chunk / (chunks / ranks);
}

std::int64_t share_start(Rank rank, int ranks, std::int64_t count) {
  // Equal to count * rank / ranks, without overflow.
  return count / ranks * rank + count % ranks * rank / ranks;
}

Partition share_partition(int ranks, int pieces) {
  const auto inside = near_equal_partition(pieces);
  return [ranks, pieces, inside](int chunk, std::int64_t count, int element_bytes) {
    const Rank rank = chunk / pieces;
    const std::int64_t first = share_start(rank, ranks, count);
    if (chunk % pieces == 0) return first;
    return first +
           inside(chunk % pieces, share_start(rank + 1, ranks, count) - first, element_bytes);
  };
}

double bus_factor(CollectiveKind kind, int ranks) {
  if (has_root(kind)) return 1;
  const double n = ranks;
  return (kind == CollectiveKind::all_reduce ? 2 : 1) * (n - 1) / n;
}

}  // namespace collbench

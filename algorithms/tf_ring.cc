#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "core/error.h"

namespace collbench {

// TensorFlow rounds a chunk up to the next multiple of 64 bytes, and adds 64 bytes to one that is a
// multiple already. Chunks are laid out from the front, so the last ones may be short or empty.
Partition tf_ring_partition(int chunks) {
  return [chunks](int chunk, std::int64_t count, int element_bytes) {
    constexpr std::int64_t alignment = 64;
    const std::int64_t least = (count + chunks - 1) / chunks;
    const std::int64_t bytes = least * element_bytes;
    const std::int64_t padding = alignment - bytes % alignment;
    const std::int64_t size = least + padding / element_bytes;
    return chunk == chunks ? count : std::min(count, chunk * size);
  };
}

// The sum of chunk c starts at rank c and goes once around, ((x_c + x_c+1) + ...) + x_c-1, then the
// result goes on around from rank c-1. So in round t rank r sends chunk r - t and receives r - 1 -
// t, n-1 rounds reducing and n-1 copying; the second lap needs no other formula than the first.
Schedule tf_ring(int ranks, int subdivisions) {
  require(subdivisions >= 1,
          "tf-ring: subdivs must be at least 1, not " + std::to_string(subdivisions));
  const int n = ranks;
  const auto play = [n](Rank r, int t, Round& out) {
    const bool reducing = t < n - 1;
    const int step = reducing ? t : t + 1 - n;
    // Gathering starts one chunk further: rank r holds the finished sum of chunk r+1.
    const int sent = (r + (reducing ? 0 : 1) - step + n) % n;
    out.send((r + 1) % n, {sent});
    out.push(
        {reducing ? OpKind::recv_reduce : OpKind::recv, (r + n - 1) % n, {(sent + n - 1) % n}});
  };
  std::vector<int> laps{0};
  if (n > 1) laps.push_back(n - 1);
  const Schedule around =
      split({"tf-ring", {n, n, 2 * (n - 1)}, play, {}, std::move(laps)}, subdivisions);
  return around.with_partition(tf_ring_partition(around.chunks()));
}

}  // namespace collbench

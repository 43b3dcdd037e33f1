#include "bench/measure/library_orders.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "algorithms/collective.h"

namespace collbench {
namespace {

/// The sum of two sums, the lower operand first as expressions have it.
AdditionOrder sum_of(AdditionOrder a, const AdditionOrder& b) {
  a.steps.insert(a.steps.end(), b.steps.begin(), b.steps.end());
  a.steps.push_back(AdditionOrder::rounded);
  return a;
}

OrdersByElement everywhere(std::int64_t count, AdditionOrder order) {
  return {{count, std::move(order)}};
}

OrdersByElement mpi_linear(int ranks, std::int64_t count, int) {
  return everywhere(count, left_fold(ranks, ranks - 1, -1));
}

// The first ranks beyond a power of two give their vector to the next one.
AdditionOrder paired_leaf(int place, int extra) {
  const auto leaf = [](int rank) { return AdditionOrder{{rank}}; };
  return place < extra ? sum_of(leaf(2 * place), leaf(2 * place + 1)) : leaf(place + extra);
}

AdditionOrder doubling_tree(int first, int size, int extra) {
  if (size == 1) return paired_leaf(first, extra);
  return sum_of(doubling_tree(first, size / 2, extra),
                doubling_tree(first + size / 2, size / 2, extra));
}

// A node of level l, 2^l - 1 to 2^(l+1) - 2, has the nodes 2^l and 2^(l+1) places on below it.
AdditionOrder below(Rank node, int ranks) {
  const int step = static_cast<int>(std::bit_floor(static_cast<unsigned>(node + 1)));
  AdditionOrder sum{{node}};
  for (const Rank child : {node + step, node + 2 * step}) {
    if (child < ranks) sum = sum_of(std::move(sum), below(child, ranks));
  }
  return sum;
}

// Fewer ranks, and longer vectors, are added along a chain, as mpi:linear does.
OrdersByElement mpi_nonoverlapping(int ranks, std::int64_t count, int) {
  if (ranks < 4) return {};
  return everywhere(count, below(0, ranks));
}

OrdersByElement mpi_recursive_doubling(int ranks, std::int64_t count, int) {
  const auto p = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  return everywhere(count, doubling_tree(0, p, ranks - p));
}

// The first count % ranks blocks have one element more; block k is summed from rank k upwards.
OrdersByElement mpi_ring(int ranks, std::int64_t count, int) {
  OrdersByElement orders;
  std::int64_t end = 0;
  for (Rank k = 0; k < ranks; ++k) {
    end += count / ranks + (k < count % ranks ? 1 : 0);
    orders.emplace_back(end, left_fold(ranks, k, 1));
  }
  return orders;
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Segments of at most 1 MiB, at least two for each rank and as many for each; those of rank k are
// summed from the rank before it downwards.
OrdersByElement gloo_ring(int ranks, std::int64_t count, int element_bytes) {
  constexpr std::int64_t most_segment_bytes = 1 << 20;
  const std::int64_t needed = divided_up(count * element_bytes, most_segment_bytes);
  const std::int64_t of_rank = divided_up(std::max<std::int64_t>(needed, 2 * ranks), ranks);
  const std::int64_t chunk = of_rank * divided_up(count, of_rank * ranks);
  OrdersByElement orders;
  for (Rank k = 0; k < ranks; ++k) {
    orders.emplace_back(std::min(count, (k + 1) * chunk),
                        left_fold(ranks, (k + ranks - 1) % ranks, -1));
  }
  return orders;
}

// Pieces of 256 elements or more, two for each rank, from its own upwards.
OrdersByElement gloo_ring_chunked(int ranks, std::int64_t count, int) {
  const std::int64_t piece = std::max<std::int64_t>(256, divided_up(count, 2 * ranks));
  OrdersByElement orders;
  for (Rank k = 0; k < ranks; ++k) {
    orders.emplace_back(std::min(count, 2 * (k + 1) * piece), left_fold(ranks, k, 1));
  }
  return orders;
}

// Blocks of powers of two, the largest first; what the smaller ones have is added to it.
AdditionOrder blocks_from(Rank first, int ranks) {
  const auto size = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  AdditionOrder sum = doubling_tree(first, size, 0);
  return size == ranks ? sum : sum_of(std::move(sum), blocks_from(first + size, ranks - size));
}

OrdersByElement gloo_halving_doubling(int ranks, std::int64_t count, int) {
  return everywhere(count, blocks_from(0, ranks));
}

// In each step ranks a stride apart meet in groups, of two as long as the number of those left is
// even, then of all, and each sums its part of what it has: its own term, then the others' in
// order.
struct GlooCube {
  int ranks = 1;

  AdditionOrder sum(Rank rank, int stride) const {
    if (stride == 1) return AdditionOrder{{rank}};
    int inner = 1;
    while (inner * size_at(inner) < stride) inner *= size_at(inner);
    const int size = size_at(inner);
    const int mine = rank / inner % size;
    AdditionOrder all = sum(rank, inner);
    for (int other = 0; other < size; ++other) {
      if (other != mine) all = sum_of(std::move(all), sum(rank + (other - mine) * inner, inner));
    }
    return all;
  }

  // Cuts [first, end), which the ranks `stride` apart from `rank` have in common.
  void cut(Rank rank, int stride, std::int64_t first, std::int64_t end,
           OrdersByElement& orders) const {
    if (stride == ranks) {
      if (first < end) orders.emplace_back(end, sum(rank, ranks));
      return;
    }
    const int size = size_at(stride);
    const std::int64_t part = divided_up(end - first, size);
    for (int k = 0; k < size; ++k) {
      const std::int64_t begin = std::min(end, first + k * part);
      cut(rank + k * stride, stride * size, begin, std::min(end, begin + part), orders);
    }
  }

  // The size of the groups whose ranks are `stride` apart.
  int size_at(int stride) const {
    const int left = ranks / stride;
    return left % 2 == 0 ? 2 : left;
  }
};

OrdersByElement gloo_bcube(int ranks, std::int64_t count, int) {
  OrdersByElement orders;
  GlooCube{ranks}.cut(0, 1, 0, count, orders);
  return orders;
}

}  // namespace

AdditionOrder left_fold(int ranks, Rank first, int step) {
  AdditionOrder order{{first}};
  for (int i = 1; i < ranks; ++i) {
    order.steps.push_back(((first + i * step) % ranks + ranks) % ranks);
    order.steps.push_back(AdditionOrder::rounded);
  }
  return order;
}

std::span<const LibraryOrder> library_orders() {
  static constexpr LibraryOrder rules[] = {
      {"mpi:linear, mpi:nonoverlapping of long vectors", mpi_linear},
      {"mpi:nonoverlapping of short vectors", mpi_nonoverlapping},
      {"mpi:recursive-doubling, mpi:rabenseifner", mpi_recursive_doubling},
      {"mpi:ring, mpi:segmented-ring", mpi_ring},
      {"gloo:ring", gloo_ring},
      {"gloo:bcube", gloo_bcube},
      {"gloo:ring-chunked", gloo_ring_chunked},
      {"gloo:halving-doubling", gloo_halving_doubling},
  };
  return rules;
}

}  // namespace collbench

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

OrdersByElement mpi_linear(int ranks, std::int64_t count) {
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
OrdersByElement mpi_nonoverlapping(int ranks, std::int64_t count) {
  if (ranks < 4) return {};
  return everywhere(count, below(0, ranks));
}

OrdersByElement mpi_recursive_doubling(int ranks, std::int64_t count) {
  const auto p = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  return everywhere(count, doubling_tree(0, p, ranks - p));
}

// The first count % ranks blocks have one element more; block k is summed from rank k upwards.
OrdersByElement mpi_ring(int ranks, std::int64_t count) {
  OrdersByElement orders;
  std::int64_t end = 0;
  for (Rank k = 0; k < ranks; ++k) {
    end += count / ranks + (k < count % ranks ? 1 : 0);
    orders.emplace_back(end, left_fold(ranks, k, 1));
  }
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
  };
  return rules;
}

}  // namespace collbench

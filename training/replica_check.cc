#include "training/replica_check.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "training/elements.h"

namespace collbench {
namespace {

/// The rank that holds what most do not; -1 if all are equal.
int odd_one_out(std::span<const std::int64_t> values) {
  const auto count = [&](std::int64_t value) {
    return std::count(values.begin(), values.end(), value);
  };
  std::int64_t usual = values[0];
  for (const std::int64_t value : values) {
    if (count(value) > count(usual)) usual = value;
  }
  const auto odd = std::find_if(values.begin(), values.end(),
                                [usual](std::int64_t value) { return value != usual; });
  return odd == values.end() ? -1 : static_cast<int>(odd - values.begin());
}

bool equal_everywhere(std::int64_t mine, Communicator& communicator) {
  // The largest of all and, as the complement reverses the order, the smallest.
  std::vector<std::int64_t> ends{mine, ~mine};
  all_reduce(communicator, ends, ReduceOp::max);
  return ends[0] == ~ends[1];
}

}  // namespace

void require_equal_replicas(const Network& network, std::span<const Tensor> tensors,
                            Communicator& communicator, std::int64_t step) {
  const std::int64_t total = tensors.back().first + tensors.back().count;
  const auto mine = std::bit_cast<std::int64_t>(network.fingerprint(0, total));
  if (equal_everywhere(mine, communicator)) return;

  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  std::vector<std::int64_t> table(tensors.size() * ranks);  // a rank fills its column, others add 0
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    table[i * ranks + static_cast<std::size_t>(communicator.rank())] =
        std::bit_cast<std::int64_t>(network.fingerprint(tensors[i].first, tensors[i].count));
  }
  all_reduce(communicator, table, ReduceOp::sum);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const int rank = odd_one_out(std::span(table).subspan(i * ranks, ranks));
    if (rank < 0) continue;
    throw WrongResult(
        fmt::format("replicas differ after step {}: '{}' of rank {} is not that of the others",
                    step, tensors[i].name, rank));
  }
  throw WrongResult(fmt::format("replicas differ after step {}", step));
}

void require_equal_digests(std::uint64_t digest, Communicator& communicator, std::int64_t step) {
  const auto mine = std::bit_cast<std::int64_t>(digest);
  if (equal_everywhere(mine, communicator)) return;
  std::vector<std::int64_t> all(static_cast<std::size_t>(communicator.ranks()));
  all[static_cast<std::size_t>(communicator.rank())] = mine;
  all_reduce(communicator, all, ReduceOp::sum);
  throw WrongResult(
      fmt::format("replicas differ in step {}: the parameters that rank {} gathered are not those "
                  "of the others",
                  step, odd_one_out(all)));
}

}  // namespace collbench

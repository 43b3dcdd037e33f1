// In which order the all-reduces of libraries add, as found from their outputs alone.
//
// Source: Open MPI 4.1.4 and Gloo 0.5 (Debian's of 2022), each rule checked by playing it on inputs
// of which every order gives another sum (run --observe). Open MPI's six algorithms have four
// orders: their bits tell no more apart. Gloo's ring and its bcube, and the two algorithms of its
// older interface, have one each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/expressions.h"

namespace collbench {

/// The end of a run of elements, and the order of all of them.
using OrdersByElement = std::vector<std::pair<std::int64_t, AdditionOrder>>;

struct LibraryOrder {
  std::string_view name;  // of all that add so
  /// For `count` elements of so many bytes; empty where the rule is not known for so many ranks.
  OrdersByElement (*orders)(int ranks, std::int64_t count, int element_bytes);
};
std::span<const LibraryOrder> library_orders();

/// ((first + next) + next) ..., ranks going up by `step` (1 or -1), round and round.
AdditionOrder left_fold(int ranks, Rank first, int step);

}  // namespace collbench

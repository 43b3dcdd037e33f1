// In which order the all-reduces of libraries add, as found from their outputs alone.
//
// Source: Open MPI 4.1.4, each rule checked by playing it on inputs of which every order gives
// another sum (run --observe). Its six algorithms have four orders: their bits tell no more apart.
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
  /// For `count` elements; empty where the rule is not known for so many ranks.
  OrdersByElement (*orders)(int ranks, std::int64_t count);
};
std::span<const LibraryOrder> library_orders();

/// ((first + next) + next) ..., ranks going up by `step` (1 or -1), round and round.
AdditionOrder left_fold(int ranks, Rank first, int step);

}  // namespace collbench

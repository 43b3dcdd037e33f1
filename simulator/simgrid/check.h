// Inputs whose all-reduce is exact in any order, and how many results differ from it.
//
// Values are small whole numbers (for prod powers of two), so that no partial sum rounds or
// overflows: every schedule must give the same bits. They depend on rank and position, so that a
// lost, doubled or misplaced chunk shows. What must come out is computed from the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/endpoint.h"

namespace collbench {

/// Throws InvalidArgument for f16 and bf16, whose rounding is what real runs check, and for more
/// ranks than the type can count.
void require_exact_sums(DataType type, ReduceOp op, int ranks);

/// What `rank` contributes at `position`.
std::int64_t exact_contribution(DataType type, ReduceOp op, int ranks, Rank rank,
                                std::int64_t position);

/// Fills `region` with the contributions of `rank`.
void fill_exact(Region region, ReduceOp op, int ranks, Rank rank);

/// The exact reduction of all contributions, and how many elements of `region` differ from it.
std::vector<double> exact_reduction(DataType type, ReduceOp op, int ranks, std::int64_t count);
std::int64_t count_inexact(Region region, const std::vector<double>& exact);

}  // namespace collbench

// The exact check: inputs whose reduction is exact in any order, and what must come out.
//
// Inputs are small whole numbers (for prod: plus or minus powers of two), bounded by element type
// and number of ranks so that no partial result rounds or overflows. So every schedule and every
// library must give the same bits, and they are computed here from the definition, without the
// kernels under test. Values depend on rank and position: a lost, doubled or misplaced chunk shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/collective.h"
#include "transports/endpoint.h"

namespace collbench {

/// What `rank` of `ranks` contributes at one position, a value its type holds exactly. Any
/// reduction of any subset of the ranks' values at a position is exact too (avg: before the
/// division).
double exact_input(DataType type, ReduceOp op, int ranks, Rank rank, std::int64_t position,
                   std::uint64_t seed);

/// The reduction of all ranks' inputs at one position by the definition of core/data_type.h, before
/// it is rounded to f16 or bf16.
double exact_result(DataType type, ReduceOp op, int ranks, std::int64_t position,
                    std::uint64_t seed);

/// What `rank` contributes where orders of additions are to show: a number in (-1, 1) of some 50
/// bits, at least 2^-9 in size, before it is rounded to its type. docs/addition-order.md has the
/// formula for others to follow.
double rough_value(DataType type, ReduceOp op, Rank rank, std::int64_t position,
                   std::uint64_t seed);

/// Stores `value` as one element, rounding to nearest even; wraps nothing: it must be in range.
void encode(DataType type, double value, std::byte* element);

/// How many of the elements of `region` differ in a bit from those at `right`.
std::int64_t count_unlike(Region region, const std::byte* right);

/// `exact` inputs prove a result; `rough` ones (random mantissas) show whether ranks round alike.
enum class InputKind : std::uint8_t { exact, rough };

/// The inputs and results of one rank for one type, operator and number of ranks. A buffer is
/// filled block by block from places of a tile that vary without period, at the speed of memcpy.
/// Thread safety: const members may run on any number of threads.
class CheckInputs {
 public:
  CheckInputs(DataType type, ReduceOp op, int ranks, Rank rank, std::uint64_t seed);

  /// Fills a part of a vector, or the whole.
  void fill(Region vector, InputKind kind, Elements part) const;
  void fill(Region vector, InputKind kind) const { fill(vector, kind, {0, vector.count}); }
  /// Elements of a part, or of the whole, unlike the rank's exact input, and unlike the exact
  /// result.
  std::int64_t count_changed_inputs(Region vector, Elements part) const;
  std::int64_t count_changed_inputs(Region vector) const {
    return count_changed_inputs(vector, {0, vector.count});
  }
  std::int64_t count_wrong_results(Region vector, Elements part) const;
  std::int64_t count_wrong_results(Region vector) const {
    return count_wrong_results(vector, {0, vector.count});
  }

 private:
  using Tile = std::vector<std::byte>;
  std::int64_t block_start(std::int64_t block) const;
  std::int64_t count_unlike_tile(Region vector, Elements part, const Tile& tile) const;

  DataType type_;
  std::uint64_t seed_;
  Tile exact_;
  Tile rough_;
  Tile result_;
};

/// A hash of the bits, for comparing ranks.
std::uint64_t hash_bits(std::span<const std::byte> bits);
inline std::uint64_t hash_bits(Region region) {
  return hash_bits(
      std::span<const std::byte>(region.data, static_cast<std::size_t>(region.size().count)));
}

}  // namespace collbench

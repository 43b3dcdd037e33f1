// Sums as expressions: which terms were added, and in which order.
//
// Expressions are hash-consed: equal ids mean the same additions in the same order, up to swapping
// the two terms of one addition, which IEEE addition does bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

using Expression = std::uint32_t;

/// What a chunk holds of which its rank has no value.
constexpr Expression nothing = ~Expression{0};

/// All expressions over the terms of some ranks; id r is the term of rank r. Thread safety: as a
/// container.
class Expressions {
 public:
  explicit Expressions(int ranks);

  /// a + b. A `partial` sum, inside a fold, is not rounded to the element type yet and so differs
  /// from a rounded one.
  Expression add(Expression a, Expression b, bool partial);

  bool has_term(Expression a, Rank rank) const {
    return ((set(a)[rank / 64] >> (rank % 64)) & 1) != 0;
  }
  /// How many ranks' terms `a` has.
  int terms(Expression a) const;
  /// The lowest rank whose term is in both, or -1.
  Rank common_term(Expression a, Expression b) const;

 private:
  const std::uint64_t* set(Expression e) const { return sets_.data() + e * words_; }

  std::size_t words_;                // 64-bit words per set of ranks
  std::vector<std::uint64_t> sets_;  // the terms of each expression
  std::unordered_map<std::uint64_t, Expression> ids_;
};

}  // namespace collbench

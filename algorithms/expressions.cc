#include "algorithms/expressions.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

namespace collbench {

Expressions::Expressions(int ranks) : words_((static_cast<std::size_t>(ranks) + 63) / 64) {
  for (Rank r = 0; r < ranks; ++r) {
    sets_.resize(sets_.size() + words_, 0);
    std::uint64_t* own = sets_.data() + sets_.size() - words_;
    own[r / 64] = std::uint64_t{1} << (r % 64);
  }
}

Expression Expressions::add(Expression a, Expression b, bool partial) {
  const auto [low, high] = std::minmax(a, b);
  assert(high < (Expression{1} << 31));
  const std::uint64_t key = (std::uint64_t{low} << 32) | (std::uint64_t{high} << 1) | partial;
  const auto next = static_cast<Expression>(sets_.size() / words_);
  const auto [entry, is_new] = ids_.emplace(key, next);
  if (is_new) {
    sets_.resize(sets_.size() + words_);
    std::uint64_t* sum = sets_.data() + sets_.size() - words_;
    for (std::size_t i = 0; i < words_; ++i) sum[i] = set(a)[i] | set(b)[i];
  }
  return entry->second;
}

int Expressions::terms(Expression a) const {
  return std::accumulate(set(a), set(a) + words_, 0,
                         [](int sum, std::uint64_t word) { return sum + std::popcount(word); });
}

Rank Expressions::common_term(Expression a, Expression b) const {
  for (std::size_t i = 0; i < words_; ++i) {
    const std::uint64_t both = set(a)[i] & set(b)[i];
    if (both != 0) return static_cast<Rank>(i * 64) + std::countr_zero(both);
  }
  return -1;
}

}  // namespace collbench

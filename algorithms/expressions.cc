#include "algorithms/expressions.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <utility>

namespace collbench {

Expressions::Expressions(int ranks)
    : ranks_(ranks), words_((static_cast<std::size_t>(ranks) + 63) / 64) {
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
    operands_.push_back({low, high, partial});
  }
  return entry->second;
}

AdditionOrder Expressions::order(Expression e) const {
  AdditionOrder order;
  // Backwards, and then turned round: an operation, its second operand, its first.
  std::vector<Expression> open{e};
  while (!open.empty()) {
    const Expression next = open.back();
    open.pop_back();
    if (next < static_cast<Expression>(ranks_)) {
      order.steps.push_back(static_cast<int>(next));
      continue;
    }
    const Operands& sum = operands_[next - static_cast<Expression>(ranks_)];
    order.steps.push_back(sum.partial ? AdditionOrder::partial : AdditionOrder::rounded);
    // What was there before the term that joins it: a fold that goes on, or a sum.
    const auto weight = [&](Expression operand) {
      if (operand < static_cast<Expression>(ranks_)) return 0;
      return operands_[operand - static_cast<Expression>(ranks_)].partial ? 2 : 1;
    };
    const bool swap = weight(sum.high) > weight(sum.low);
    open.push_back(swap ? sum.high : sum.low);
    open.push_back(swap ? sum.low : sum.high);
  }
  std::reverse(order.steps.begin(), order.steps.end());
  return order;
}

std::string to_string(const AdditionOrder& order) {
  struct Text {
    std::string words;
    bool folds = false;  // a fold that is not closed yet
    bool sum = false;
  };
  const auto closed = [](const Text& text) {
    return text.folds ? "[" + text.words + "]" : text.sum ? "(" + text.words + ")" : text.words;
  };
  std::vector<Text> stack;
  for (const int step : order.steps) {
    if (step >= 0) {
      stack.push_back({std::to_string(step)});
      continue;
    }
    const Text right = std::move(stack.back());
    stack.pop_back();
    Text& left = stack.back();
    const bool goes_on = left.folds;
    left.words = (goes_on ? left.words : closed(left)) + "+" + closed(right);
    left.folds = step == AdditionOrder::partial;
    left.sum = true;
    if (goes_on && !left.folds) left = {"[" + left.words + "]", false, false};
  }
  return stack.empty() ? "" : stack.back().words;
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

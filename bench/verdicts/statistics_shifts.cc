#include "bench/verdicts/statistics_shifts.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace collbench {
namespace {

constexpr std::size_t most_listed = 4'000'000;  // pairs, of which a list is kept: 32 MB

/// Of n candidates, of which `in_order` gives the one at a place; places are asked for in their
/// order.
template <typename InOrder>
Shift shift_at(std::size_t n, std::size_t k, const InOrder& in_order) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const double low = k == 0 ? -infinite : in_order(k - 1);
  const double below = in_order((n - 1) / 2);
  const double median = std::midpoint(below, in_order(n / 2));
  return {median, low, k == 0 ? infinite : in_order(n - k)};
}

/// There are as many candidates as pairs of rounds: they are parted where needed, not sorted.
Shift shift_of(std::vector<double> candidates, std::size_t k) {
  std::size_t parted = 0;  // what lies before it is smaller; places are asked for in their order
  const auto in_order = [&](std::size_t place) {
    const auto at = candidates.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(candidates.begin() + static_cast<std::ptrdiff_t>(parted), at,
                     candidates.end());
    parted = place;
    return *at;
  };
  return shift_at(candidates.size(), k, in_order);
}

/// Doubles as whole numbers of the same order, neighbours being neighbours, and back.
std::int64_t ordinal_of(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}
double from_ordinal(std::int64_t ordinal) {
  return std::bit_cast<double>(ordinal >= 0 ? ordinal
                                            : std::numeric_limits<std::int64_t>::min() - ordinal);
}

/// The candidate that has `place` others before it in the order of values, without a list of them:
/// the least value up to which more lie. `count_to` gives how many are at most a value.
template <typename CountTo>
double nth_by_count(std::size_t place, double least, double most, const CountTo& count_to) {
  std::int64_t low = ordinal_of(least);
  std::int64_t high = ordinal_of(most);
  while (low < high) {
    const std::int64_t middle = std::midpoint(low, high);
    if (count_to(from_ordinal(middle)) > place) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return from_ordinal(low);
}

/// The shift by all differences, where these are too many to be listed.
Shift shift_of_many(std::vector<double> first, std::vector<double> second, std::size_t k) {
  std::ranges::sort(first);
  std::ranges::sort(second);
  const auto count_to = [&](double value) {
    std::size_t count = 0;
    std::size_t larger = 0;  // place in `first` from which on a difference is small enough
    for (const double b : second) {
      while (larger < first.size() && b - first[larger] > value) ++larger;
      count += first.size() - larger;
    }
    return count;
  };
  const auto in_order = [&](std::size_t place) {
    return nth_by_count(place, second.front() - first.back(), second.back() - first.front(),
                        count_to);
  };
  return shift_at(first.size() * second.size(), k, in_order);
}

/// The shift by all means of two, likewise.
Shift walsh_shift_of_many(std::vector<double> differences, std::size_t k) {
  std::ranges::sort(differences);
  const std::size_t n = differences.size();
  const auto count_to = [&](double value) {
    std::size_t count = 0;
    std::size_t end = n;  // behind those whose mean with this one is small enough
    for (std::size_t i = 0; i < end; ++i) {
      while (end > i && (differences[i] + differences[end - 1]) / 2 > value) --end;
      count += end - i;
    }
    return count;
  };
  const auto in_order = [&](std::size_t place) {
    return nth_by_count(place, differences.front(), differences.back(), count_to);
  };
  return shift_at(n * (n + 1) / 2, k, in_order);
}

}  // namespace

Shift shift_by_differences(std::span<const double> first, std::span<const double> second,
                           std::size_t blocks, std::size_t k) {
  const std::size_t n = first.size() / blocks;
  const std::size_t m = second.size() / blocks;
  if (blocks == 1 && n * m > most_listed) {
    return shift_of_many({first.begin(), first.end()}, {second.begin(), second.end()}, k);
  }
  std::vector<double> differences;
  differences.reserve(n * m * blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (const double b : second.subspan(block * m, m)) {
      for (const double a : first.subspan(block * n, n)) differences.push_back(b - a);
    }
  }
  return shift_of(std::move(differences), k);
}

Shift shift_by_means(std::span<const double> differences, std::size_t k) {
  const std::size_t n = differences.size();
  if (n * (n + 1) / 2 > most_listed) {
    return walsh_shift_of_many({differences.begin(), differences.end()}, k);
  }
  std::vector<double> means;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) means.push_back((differences[i] + differences[j]) / 2);
  }
  return shift_of(std::move(means), k);
}

}  // namespace collbench

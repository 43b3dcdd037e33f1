#include "bench/verdicts/statistics_ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include <boost/math/special_functions/erf.hpp>
#include <fmt/format.h>

#include "bench/verdicts/statistics_shifts.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr std::size_t largest_exact_product = 3600;  // of sample sizes: 60 against 60
constexpr std::size_t largest_exact_pairs = 80;      // signed ranks
// Where some values are equal: with so few pairs, or so few values of the smaller sample.
constexpr std::size_t largest_tied_product = 400;
constexpr std::size_t fewest_normal = 8;

// Equal values may come out unequal in their last digits: log(a) + log(1.05) is not log(1.05 a).
constexpr double last_digits = 1e-12;

using Chances = std::vector<double>;  // of the statistic's values 0, 1, ...

/// P(U = u) for samples of n and m. A largest value is of the first sample with chance n / (n + m)
/// and then exceeds all m values of the second, or is of the second and exceeds none it counts for.
Chances u_chances(std::size_t n, std::size_t m) {
  std::vector<Chances> row(m + 1);  // row[j]: of i and j values, for the i in hand
  for (std::size_t j = 0; j <= m; ++j) row[j] = {1};
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t j = 1; j <= m; ++j) {
      const double first_share = static_cast<double>(i) / static_cast<double>(i + j);
      Chances chances(i * j + 1, 0.0);
      for (std::size_t u = 0; u < row[j].size(); ++u) chances[u + j] += first_share * row[j][u];
      for (std::size_t u = 0; u < row[j - 1].size(); ++u) {
        chances[u] += (1 - first_share) * row[j - 1][u];
      }
      row[j] = std::move(chances);
    }
  }
  return row[m];
}

/// Of the sum of two independent statistics.
Chances sum_chances(const Chances& first, const Chances& second) {
  Chances sum(first.size() + second.size() - 1, 0.0);
  for (std::size_t u = 0; u < first.size(); ++u) {
    for (std::size_t v = 0; v < second.size(); ++v) sum[u + v] += first[u] * second[v];
  }
  return sum;
}

/// P(U = u) for the sum over `blocks` blocks, each of n and m.
Chances u_chances(std::size_t n, std::size_t m, std::size_t blocks) {
  const Chances one = u_chances(n, m);
  Chances sum = one;
  for (std::size_t block = 1; block < blocks; ++block) sum = sum_chances(sum, one);
  return sum;
}

/// Of the sum of those numbers that count, each with equal chance.
Chances signed_chances(std::span<const std::size_t> numbers) {
  Chances chances = {1};
  for (const std::size_t number : numbers) {
    Chances next(chances.size() + number, 0.0);
    for (std::size_t sum = 0; sum < chances.size(); ++sum) {
      next[sum] += chances[sum] / 2;
      next[sum + number] += chances[sum] / 2;
    }
    chances = std::move(next);
  }
  return chances;
}

/// P(W = w) for n signed ranks.
Chances signed_rank_chances(std::size_t n) {
  std::vector<std::size_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  return signed_chances(ranks);
}

/// A comparison of thousands of cases asks for the same few distributions.
std::shared_ptr<const Chances> remembered(std::size_t n, std::size_t m, std::size_t blocks = 1) {
  static std::mutex mutex;
  static std::map<std::array<std::size_t, 3>, std::shared_ptr<const Chances>> known;
  const std::lock_guard lock(mutex);
  auto& chances = known[{n, m, blocks}];
  if (chances == nullptr) {
    chances =
        std::make_shared<const Chances>(m == 0 ? signed_rank_chances(n) : u_chances(n, m, blocks));
  }
  return chances;
}

struct Ranks {
  std::vector<std::size_t> doubled;  // twice the mean rank of each value, from 2
  double ties = 0;                   // sum of t^3 - t over groups of t equal values
};

/// The places of the values, those of the smallest first.
std::vector<std::size_t> sorted_places(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

Ranks rank(const std::vector<double>& values) {
  const std::vector<std::size_t> order = sorted_places(values);
  Ranks ranks;
  ranks.doubled.resize(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    const double least = values[order[begin]];
    const double most = least + last_digits * std::max(1.0, std::abs(least));
    while (end < order.size() && values[order[end]] <= most) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks.doubled[order[i]] = begin + end + 1;
    const auto group = static_cast<double>(end - begin);
    ranks.ties += group * group * group - group;
    begin = end;
  }
  return ranks;
}

/// From the distribution of a statistic that is `at`.
void fill_exact(RankTest& test, const Chances& chances, double at) {
  const auto value = static_cast<std::ptrdiff_t>(std::lround(at));
  const auto sum = [](auto begin, auto end) {
    return std::min(1.0, std::accumulate(begin, end, 0.0));
  };
  test.exact = true;
  test.p_less = sum(chances.begin(), chances.begin() + value + 1);
  test.p_greater = sum(chances.begin() + value, chances.end());
}

/// Of the doubled sum of ranks, all ways to choose the `chosen` values of one sample among these
/// ranks being as likely.
Chances chosen_chances(std::span<const std::size_t> doubled_ranks, std::size_t chosen) {
  std::vector<Chances> ways(chosen + 1);  // [k][sum]: to choose k of the ranks so far
  ways[0] = {1};
  for (const std::size_t doubled : doubled_ranks) {
    for (std::size_t k = chosen; k > 0; --k) {
      if (ways[k - 1].empty()) continue;
      ways[k].resize(std::max(ways[k].size(), ways[k - 1].size() + doubled), 0.0);
      for (std::size_t sum = 0; sum < ways[k - 1].size(); ++sum) {
        ways[k][sum + doubled] += ways[k - 1][sum];
      }
    }
  }
  const double all = std::accumulate(ways[chosen].begin(), ways[chosen].end(), 0.0);
  for (double& share : ways[chosen]) share /= all;
  return std::move(ways[chosen]);
}

/// Where values are equal. `sum` is the doubled sum of the ranks of the second sample in all
/// blocks. Chosen is the smaller sample: time and memory grow with how many are chosen.
void fill_tied(RankTest& test, std::span<const Ranks> blocks, std::size_t n, std::size_t m,
               double sum) {
  Chances doubled = {1};
  for (const Ranks& block : blocks) {
    doubled = sum_chances(doubled, chosen_chances(block.doubled, std::min(n, m)));
  }
  if (m <= n) return fill_exact(test, doubled, sum);
  const auto all = static_cast<double>(blocks.size() * (n + m) * (n + m + 1));
  fill_exact(test, doubled, all - sum);  // that of the first sample
  std::swap(test.p_less, test.p_greater);
}

void fill_normal(RankTest& test, double mean, double variance) {
  if (variance <= 0) return;  // all values are equal: nothing is shown
  const double sd = std::sqrt(variance);
  test.p_greater = normal_cdf(-(test.statistic - mean - 0.5) / sd);
  test.p_less = normal_cdf((test.statistic - mean + 0.5) / sd);
}

void require_values(std::span<const double> values) {
  require(!values.empty(), "a rank test needs at least one value on each side");
  require(std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }),
          "a rank test needs numbers, not NaN");
}

std::size_t block_size(std::span<const double> values, std::size_t blocks) {
  require(blocks > 0 && values.size() % blocks == 0,
          fmt::format("{} values cannot be cut into {} equal blocks", values.size(), blocks));
  return values.size() / blocks;
}

/// How many of the sorted pairs to leave out at each end, plus one: the largest k with
/// P(X <= k - 1) <= tail; 0 if even the extremes are within the tail.
std::size_t interval_rank(const Chances& chances, double tail) {
  double below = 0;
  for (std::size_t k = 0; k < chances.size(); ++k) {
    below += chances[k];
    if (below > tail) return k;
  }
  return chances.size();
}
std::size_t interval_rank(double mean, double variance, double tail) {
  const double rank = mean + normal_quantile(tail) * std::sqrt(variance);
  return rank < 1 ? 0 : static_cast<std::size_t>(rank);
}

}  // namespace

RankTest mann_whitney(std::span<const double> first, std::span<const double> second,
                      std::size_t blocks) {
  require_values(first);
  require_values(second);
  const std::size_t n = block_size(first, blocks);
  const std::size_t m = block_size(second, blocks);
  const auto total = static_cast<double>(n + m);
  const auto pairs = static_cast<double>(n * m);
  RankTest test;
  double ties = 0;
  std::vector<Ranks> ranks;  // by block
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto of_first = first.subspan(block * n, n);
    const auto of_second = second.subspan(block * m, m);
    std::vector<double> all(of_first.begin(), of_first.end());
    all.insert(all.end(), of_second.begin(), of_second.end());
    ranks.push_back(rank(all));
    const auto begin = ranks.back().doubled.begin() + static_cast<std::ptrdiff_t>(n);
    const auto sum = std::accumulate(begin, ranks.back().doubled.end(), std::size_t{0});
    test.statistic += static_cast<double>(sum - m * (m + 1)) / 2;
    ties += ranks.back().ties;
  }
  const std::size_t most_tied =
      std::min(n, m) * blocks < fewest_normal ? largest_exact_product : largest_tied_product;
  if (ties > 0 && n * m * blocks <= most_tied) {
    const auto least = static_cast<double>(blocks * m * (m + 1));
    fill_tied(test, ranks, n, m, 2 * test.statistic + least);
  } else if (ties == 0 && n * m * blocks <= largest_exact_product) {
    fill_exact(test, *remembered(n, m, blocks), test.statistic);
  } else {
    const auto count = static_cast<double>(blocks);
    fill_normal(test, count * pairs / 2,
                pairs / 12 * (count * (total + 1) - ties / (total * (total - 1))));
  }
  return test;
}

Shift hodges_lehmann(std::span<const double> first, std::span<const double> second,
                     double confidence, std::size_t blocks) {
  require_values(first);
  require_values(second);
  const std::size_t n = block_size(first, blocks);
  const std::size_t m = block_size(second, blocks);
  const std::size_t count = n * m * blocks;
  const double tail = (1 - confidence) / 2;
  const auto pairs = static_cast<double>(count);
  const auto total = static_cast<double>(n + m);
  const std::size_t k = count <= largest_exact_product
                            ? interval_rank(*remembered(n, m, blocks), tail)
                            : interval_rank(pairs / 2, pairs * (total + 1) / 12, tail);
  return shift_by_differences(first, second, blocks, k);
}

RankTest wilcoxon(std::span<const double> differences) {
  require_values(differences);
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double difference : differences) {
    if (std::abs(difference) <= last_digits) continue;
    sizes.push_back(std::abs(difference));
    positive.push_back(difference > 0);
  }
  RankTest test;
  if (sizes.empty()) return test;
  const Ranks ranks = rank(sizes);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) sum += positive[i] ? ranks.doubled[i] : 0;
  test.statistic = static_cast<double>(sum) / 2;
  const auto n = static_cast<double>(sizes.size());
  if (sizes.size() <= largest_exact_pairs && ranks.ties == 0) {
    fill_exact(test, *remembered(sizes.size(), 0), test.statistic);
  } else if (sizes.size() <= largest_exact_pairs) {
    fill_exact(test, signed_chances(ranks.doubled), static_cast<double>(sum));
  } else {
    fill_normal(test, n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48);
  }
  return test;
}

Shift walsh_shift(std::span<const double> differences, double confidence) {
  require_values(differences);
  const auto n = static_cast<double>(differences.size());
  const double tail = (1 - confidence) / 2;
  const std::size_t k = differences.size() <= largest_exact_pairs
                            ? interval_rank(*remembered(differences.size(), 0), tail)
                            : interval_rank(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, tail);
  return shift_by_means(differences, k);
}

std::vector<double> holm(std::span<const double> p) {
  const std::vector<std::size_t> order = sorted_places(p);
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

double normal_cdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

double normal_quantile(double p) {
  require(p > 0 && p < 1, "a normal quantile needs a chance between 0 and 1");
  return -std::sqrt(2.0) * boost::math::erfc_inv(2 * p);
}

}  // namespace collbench

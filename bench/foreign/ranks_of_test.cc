#include "bench/foreign/ranks_of_test.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/parse.h"

namespace collbench {
namespace {

constexpr double most_by_ratio = 1 << 24;

}  // namespace

double last_digit(std::string_view number) {
  const std::size_t point = number.find('.');
  return point == number.npos ? 1 : std::pow(10, -static_cast<double>(number.size() - point - 1));
}

bool NamedRanks::add(int rank, const std::string& host) {
  const bool is_new = host_of_.emplace(rank, host).second;
  if (is_new) hosts_.insert(host);
  return is_new;
}

Scale NamedRanks::scale() const {
  if (host_of_.empty()) return {};
  Scale scale{host_of_.rbegin()->first + 1, static_cast<int>(hosts_.size())};
  if (named() == scale.ranks) return scale;
  std::map<std::string, std::pair<int, int>> ends;  // first and last rank of each host
  for (const auto& [rank, host] : host_of_)
    ends.try_emplace(host, rank, rank).first->second.second = rank;
  std::vector<std::pair<int, int>> spans;
  for (const auto& [host, span] : ends) spans.push_back(span);
  std::ranges::sort(spans);
  int covered = 0;
  for (const auto& [first, last] : spans) {
    if (first > covered) scale.nodes = 0;
    covered = std::max(covered, last + 1);
  }
  return scale;
}

void RanksByRows::add(std::string_view algbw, std::string_view busbw) {
  const auto algorithm = number_in(algbw, 0);
  const auto bus = number_in(busbw, 0);
  if (!algorithm || !bus || *algorithm <= last_digit(algbw)) return;
  least_ = std::max(least_, (*bus - last_digit(busbw)) / (*algorithm + last_digit(algbw)));
  most_ = std::min(most_, (*bus + last_digit(busbw)) / (*algorithm - last_digit(algbw)));
}

bool RanksByRows::fits_ranks(int ranks) const {
  return shares_ > 0 ? shares_ == ranks : ranks >= 2 && fits(2 * (ranks - 1.0) / ranks);
}

bool RanksByRows::fits_some_test_of(int ranks) const {
  if (shares_ > 0) return shares_ == ranks;
  const double once = (ranks - 1.0) / ranks;
  return fits(2 * once) || fits(once) || fits(1);
}

int RanksByRows::ranks(bool surely) const {
  if (shares_ > 0) return shares_;
  if (least_ > most_ || most_ >= 2 || least_ <= 0) return 0;
  const double first = std::ceil(2 / (2 - least_) - 1e-9);
  const bool is_one = first == std::floor(2 / (2 - most_) + 1e-9) && first <= most_by_ratio;
  return is_one && first >= (surely ? 2 : 3) ? static_cast<int>(first) : 0;
}

}  // namespace collbench

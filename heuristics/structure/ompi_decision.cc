#include "heuristics/structure/ompi_decision.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace collbench {
namespace {

constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();
constexpr int any_ranks = std::numeric_limits<int>::max();

struct Switch {
  std::int64_t below_bytes;
  int algorithm;
};
struct RankRow {
  int below_ranks;
  std::array<Switch, 7> switches;  // up to the first any_size
};

// Commutative operators.
constexpr std::array<RankRow, 11> fixed_rules{{
    {4, {{{8, 4}, {4096, 3}, {8192, 4}, {16384, 3}, {65536, 4}, {262144, 5}, {any_size, 6}}}},
    {8, {{{16, 4}, {8192, 3}, {any_size, 6}}}},
    {16, {{{8192, 3}, {any_size, 6}}}},
    {32, {{{64, 5}, {4096, 3}, {any_size, 6}}}},
    {64, {{{128, 5}, {any_size, 6}}}},
    {128, {{{262144, 3}, {any_size, 6}}}},
    {256, {{{131072, 2}, {262144, 3}, {any_size, 6}}}},
    {512, {{{4096, 2}, {any_size, 6}}}},
    {2048, {{{2048, 2}, {16384, 3}, {any_size, 6}}}},
    {4096, {{{2048, 2}, {4096, 5}, {16384, 3}, {any_size, 6}}}},
    {any_ranks, {{{2048, 2}, {16384, 5}, {32768, 3}, {any_size, 6}}}},
}};

}  // namespace

OmpiAlgorithm ompi_fixed_rule(int ranks, Bytes bytes) {
  const auto row = std::find_if(fixed_rules.begin(), fixed_rules.end(),
                                [&](const RankRow& r) { return ranks < r.below_ranks; });
  const auto at = std::find_if(row->switches.begin(), row->switches.end(),
                               [&](const Switch& s) { return bytes.count < s.below_bytes; });
  return static_cast<OmpiAlgorithm>(at->algorithm);
}

OmpiAlgorithm ompi_played(OmpiAlgorithm chosen, int ranks, std::int64_t elements) {
  const bool rings = chosen == OmpiAlgorithm::ring || chosen == OmpiAlgorithm::segmented_ring;
  if (rings && elements < ranks) return OmpiAlgorithm::recursive_doubling;
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<unsigned>(ranks)));
  if (chosen == OmpiAlgorithm::rabenseifner && elements < power) return OmpiAlgorithm::linear;
  return chosen;
}

}  // namespace collbench

#include "heuristics/exports/ompi_rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "heuristics/policies/policy.h"

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

/// One of its algorithms: its name there, and ours for it, the nearest first.
struct OmpiInfo {
  std::string_view theirs;
  std::array<std::string_view, 4> ours;
};
constexpr std::array<OmpiInfo, 7> infos{
    {{},
     {"linear", {"reduce-broadcast", "default-basic_linear"}},
     {"nonoverlapping", {"nonoverlapping", "tree", "double-tree", "recursive-doubling"}},
     {"recursive doubling", {"recursive-doubling"}},
     {"ring", {"ring"}},
     {"segmented ring", {"segmented-ring", "ring"}},
     {"Rabenseifner", {"halving-doubling"}}}};

const OmpiInfo& info_of(OmpiAlgorithm algorithm) {
  return infos[static_cast<std::size_t>(algorithm)];
}

}  // namespace

std::string_view to_string(OmpiAlgorithm algorithm) { return info_of(algorithm).theirs; }

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

std::optional<OmpiAlgorithm> ompi_algorithm_of(std::string_view algorithm) {
  const AlgorithmSpec spec = parse_algorithm_spec(algorithm);
  if (spec.name == "ring" || spec.name == "tf-ring") {
    return spec.options.count("segments") > 0 ? OmpiAlgorithm::segmented_ring : OmpiAlgorithm::ring;
  }
  if (spec.name == "reduce-broadcast") return OmpiAlgorithm::linear;
  if (spec.name == "tree") return OmpiAlgorithm::nonoverlapping;
  if (spec.name == "recursive-doubling") return OmpiAlgorithm::recursive_doubling;
  if (spec.name == "halving-doubling") return OmpiAlgorithm::rabenseifner;
  return {};
}

Answer ask_ompi(const Question& question) {
  const OmpiAlgorithm chosen = ompi_fixed_rule(question.workers, question.bytes);
  const std::int64_t elements = question.bytes.count / size_of(question.type);
  const OmpiAlgorithm played = ompi_played(chosen, question.workers, elements);
  std::string reason =
      fmt::format("the fixed rule for {} ranks and {} is algorithm {}, {}", question.workers,
                  to_string(question.bytes), static_cast<int>(chosen), to_string(chosen));
  if (played != chosen) {
    reason += fmt::format(", which plays {} for so few elements", to_string(played));
  }
  const auto& ours = info_of(played).ours;
  const auto end = std::find(ours.begin(), ours.end(), std::string_view());
  return take_first(question, {ours.begin(), end}, std::move(reason));
}

}  // namespace collbench

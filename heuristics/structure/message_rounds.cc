#include "heuristics/structure/message_rounds.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"

namespace collbench {
namespace {

// Trees over long vectors are pipelined in segments; Open MPI 4.1, coll_tuned_decision_fixed.c.
constexpr double pipelined_from = 512 << 10;
constexpr double pipeline_segment = 64 << 10;

/// Between partners of each round of a row of the registry that exchanges whole vectors, over more
/// ranks than any machine has: what fewer ranks do is a beginning of it.
std::vector<double> distances_in(const char* row) {
  constexpr int ranks = 1 << 24;
  const Schedule schedule = make_schedule(row, ranks);
  std::vector<double> distances;
  for (int t = 0; t < schedule.rounds(); ++t) {
    const Rank peer = resolve(schedule, 0, t).sends().front().peer;
    distances.push_back(std::min(peer, ranks - peer));
  }
  return distances;
}

double distance_of(const PlayedMethod& played, int j) {
  static const std::vector<double> bine = distances_in("bine:small");
  static const std::vector<double> doubling = distances_in("recursive-doubling");
  return (played.bine ? bine : doubling).at(static_cast<std::size_t>(j));
}

std::vector<MessageRound> doubling_rounds(const PlayedMethod& played, int folded, bool folds,
                                          double bytes) {
  std::vector<MessageRound> rounds;
  if (folds) rounds.push_back({.bytes = bytes, .reduced = bytes});
  for (int j = 0; j < folded; ++j) {
    rounds.push_back({.bytes = bytes, .reduced = bytes, .distance = distance_of(played, j)});
  }
  if (folds) rounds.push_back({.bytes = bytes});
  return rounds;
}

/// Segments wait for each other while halves are reduced; the all-gather is never cut.
std::vector<MessageRound> halving_rounds(const PlayedMethod& played, int ranks, int folded,
                                         bool folds, double bytes) {
  const bool cut = played.segment > 0 || played.segment_is_a_chunk;
  const double segment = played.segment_is_a_chunk ? bytes / ranks : played.segment;
  std::vector<MessageRound> rounds;
  if (folds && cut) rounds.push_back({.bytes = bytes, .reduced = bytes});
  if (folds && !cut) {
    rounds.push_back({.bytes = bytes / 2, .reduced = bytes / 2});
    rounds.push_back({.bytes = bytes / 2});
  }
  for (int j = 0; j < folded; ++j) {
    MessageRound round;
    round.bytes = bytes * std::exp2(-j - 1);
    round.reduced = round.bytes;
    round.distance = distance_of(played, j);
    if (played.form == PlayedForm::blocks) {
      round.segments = std::exp2(folded - 1 - j);
      round.posted = true;
    } else if (cut) {
      round.segments = std::max(1.0, std::ceil(round.bytes / segment));
    }
    rounds.push_back(round);
    round.reduced = 0;
    if (!round.posted) round.segments = 1;
    rounds.push_back(round);
  }
  if (folds) rounds.push_back({.bytes = bytes});
  return rounds;
}

std::vector<MessageRound> tree_rounds(int depth, double bytes) {
  if (bytes < pipelined_from) {
    return {{.count = static_cast<double>(depth), .bytes = bytes, .reduced = bytes},
            {.count = static_cast<double>(depth), .bytes = bytes}};
  }
  const double fill = depth - 1;
  const double segments = std::ceil(bytes / pipeline_segment);
  return {{.count = fill, .bytes = pipeline_segment, .reduced = pipeline_segment},
          {.bytes = bytes, .reduced = bytes, .segments = segments, .posted = true},
          {.count = fill, .bytes = pipeline_segment},
          {.bytes = bytes, .segments = segments, .posted = true}};
}

}  // namespace

std::vector<MessageRound> message_rounds(const PlayedMethod& played, int ranks, double bytes) {
  assert(ranks >= 2);
  const auto folded = static_cast<int>(std::floor(std::log2(ranks) + 1e-9));
  const bool folds = (1 << folded) != ranks;
  const int others = ranks - 1;
  switch (played.form) {
    case PlayedForm::doubling:
      return doubling_rounds(played, folded, folds, bytes);
    case PlayedForm::halving:
      return halving_rounds(played, ranks, folded, folds, bytes);
    case PlayedForm::blocks:
      // Any even number of ranks, without folding.
      return halving_rounds(played, ranks, folded + (folds ? 1 : 0), false, bytes);
    case PlayedForm::ring:
      return {{.count = 1.0 * others, .bytes = bytes / ranks, .reduced = bytes / ranks},
              {.count = 1.0 * others, .bytes = bytes / ranks}};
    case PlayedForm::linear:
      return {{.count = 1.0 * others, .bytes = bytes, .reduced = bytes},
              {.count = 1.0 * others, .bytes = bytes}};
    default:
      break;
  }
  assert(played.form == PlayedForm::tree);
  return tree_rounds(folded + (folds ? 1 : 0), bytes);
}

}  // namespace collbench

#include "heuristics/synthesis/packed_schedule.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/synthesis/spanning_trees.h"

namespace collbench {
namespace {

/// Where the pieces of each tree are in the vector: one slot of pieces for each.
class PieceLayout {
 public:
  PieceLayout(const TreePacking& packing, const Pipelining& pipelining)
      : pieces_(pipelining.pieces),
        tracks_(pipelining.tracks),
        blocks_(packing.goal == CollectiveKind::all_reduce ? 1 : packing.ranks) {
    std::vector<std::vector<std::size_t>> trees(static_cast<std::size_t>(blocks_));
    for (std::size_t j = 0; j < packing.trees.size(); ++j) {
      trees[blocks_ == 1 ? 0 : packing.trees[j].root].push_back(j);
    }
    for (const auto& of_block : trees) slots_ = std::max(slots_, of_block.size());
    for (const auto& of_block : trees) place(packing, of_block);
    cut(tracks_ > 1 && longest_way(packing) > 2);
  }

  /// The tree of each slot.
  const std::vector<std::size_t>& trees() const { return trees_; }
  int first_chunk(std::size_t slot) const { return static_cast<int>(slot) * pieces_; }
  std::int64_t chunks() const { return static_cast<std::int64_t>(trees_.size()) * pieces_; }

  Partition partition() const {
    return [layout = std::make_shared<const PieceLayout>(*this)](int chunk, std::int64_t count,
                                                                 int element_bytes) {
      return layout->first_element(chunk, count, element_bytes);
    };
  }

 private:
  // Every block has as many slots: those for which there is no tree are empty, and follow the last.
  void place(const TreePacking& packing, const std::vector<std::size_t>& trees) {
    double total = 0;
    for (const std::size_t tree : trees) total += packing.trees[tree].weight;
    double end = 0;
    for (std::size_t i = 0; i < slots_; ++i) {
      const std::size_t tree = trees[std::min(i, trees.size() - 1)];
      end = i + 1 < trees.size() ? end + packing.trees[tree].weight / total : 1;
      ends_.push_back(end);
      trees_.push_back(tree);
    }
  }

  std::int64_t first_element(int chunk, std::int64_t count, int element_bytes) const {
    const auto slot = static_cast<std::size_t>(chunk / pieces_);
    const int block = static_cast<int>(slot / slots_);
    if (block == blocks_) return count;
    const std::int64_t begin = share_start(block, blocks_, count);
    const auto all = static_cast<double>(share_start(block + 1, blocks_, count) - begin);
    const double from = slot % slots_ == 0 ? 0 : ends_[slot - 1];
    const double share = from + (ends_[slot] - from) * cuts_[chunk % pieces_];
    const std::int64_t line = std::max(1, 64 / element_bytes);
    const auto at = static_cast<std::int64_t>(std::llround(all * share));
    const bool is_large =
        all >= 128.0 * static_cast<double>(line) * pieces_ * static_cast<double>(slots_);
    return begin + (is_large ? at / line * line : at);
  }

  // Tracks in step would all wait for the latency of their messages at the same time. The first
  // pieces grow from one track to the next. Where pieces are passed on, and so wait for each other,
  // that does not last: later ones `differ`, for some turns each.
  void cut(bool differ) {
    constexpr int alike_turns = 16;
    constexpr double spread = 0.4;         // of a piece, from the smallest to the largest
    constexpr double by_track = 0.618034;  // fractions of their multiples are spread evenly
    constexpr double by_turn = 0.754878;
    cuts_.assign(1, 0);
    for (int piece = 0; piece < pieces_; ++piece) {
      const int track = piece % tracks_;
      const int turn = piece / tracks_;
      const double place = by_track * track + by_turn * (turn / alike_turns);
      const double more = differ ? spread * (place - std::floor(place) - 0.5) : 0;
      cuts_.push_back(cuts_.back() + (turn == 0 ? (track + 1.0) / tracks_ : 1 + more));
    }
    const double all = cuts_.back();
    for (double& at : cuts_) at /= all;
  }

  int pieces_;
  int tracks_;
  int blocks_;             // of the vector, one for each root that has a share
  std::size_t slots_ = 0;  // of each block
  std::vector<std::size_t> trees_;
  std::vector<double> ends_;  // by slot, as a share of its block
  std::vector<double> cuts_;  // where each piece begins, as a share of its slot
};

/// What every rank does with the pieces of every tree, and how many rounds after the first.
class TreeMoves {
 public:
  /// All `turns` of what is done before late ranks come are over when they are waited for.
  TreeMoves(const TreePacking& packing, const PieceLayout& layout, int turns)
      : of_rank_(static_cast<std::size_t>(packing.ranks)) {
    const int early = early_way(packing);
    const SumRounds sums(packing, early > 0 ? early + turns - 1 : 0);
    for (std::size_t slot = 0; slot < layout.trees().size(); ++slot) {
      const PackedTree& tree = packing.trees[layout.trees()[slot]];
      add(tree, sums.of(tree), layout.first_chunk(slot));
    }
  }

  int longest_offset() const { return longest_; }

  /// First rounds of runs of alike ones: the same edges have a piece in them.
  std::vector<int> runs(int turns) const {
    std::set<int> firsts{0};
    for (const auto& moves : of_rank_) {
      for (const Move& move : moves) {
        firsts.insert(move.offset);
        firsts.insert(move.offset + turns);
      }
    }
    firsts.erase(turns + longest_);
    return {firsts.begin(), firsts.end()};
  }

  /// In round `t` of one of `tracks` tracks, which take turns in the pieces; of all if `track` < 0.
  void round(Rank rank, int t, int turns, int tracks, int track, Round& out) const {
    for (const Move& move : of_rank_[rank]) {
      const int turn = t - move.offset;
      if (turn < 0 || turn >= turns) continue;
      const int piece = turn * tracks + std::max(track, 0);
      const int count = track < 0 ? tracks : 1;
      out.push({move.kind, move.peer, {move.first + piece, count}});
    }
  }

 private:
  struct Move {
    int offset;
    Rank peer;
    int first;  // chunk
    OpKind kind;
  };

  void add(const PackedTree& tree, const std::vector<int>& sums, int first) {
    for_each_hop(tree, sums, [&](Rank from, Rank to, int offset, bool is_sum) {
      of_rank_[from].push_back({offset, to, first, OpKind::send});
      of_rank_[to].push_back({offset, from, first, is_sum ? OpKind::recv_reduce : OpKind::recv});
      longest_ = std::max(longest_, offset);
    });
  }

  std::vector<std::vector<Move>> of_rank_;  // the same order of trees at both ends of an edge
  int longest_ = 0;
};

/// Edges below each rank, of those used late or of the others.
std::vector<int> heights(const PackedTree& tree, const std::vector<bool>& is_late, bool late) {
  std::vector<int> height(tree.reduce.size(), 0);
  for (std::size_t r = 0; r < height.size(); ++r) {
    int above = 0;
    for (Rank at = static_cast<Rank>(r); at >= 0; at = tree.reduce[at]) {
      height[at] = std::max(height[at], above);
      if (is_late[at] == late)
        ++above;
      else if (!late)
        break;
    }
  }
  return height;
}

}  // namespace

Schedule packed_schedule(const TreePacking& packing, const Pipelining& pipelining,
                         const std::string& name) {
  constexpr std::int64_t most_chunks = 1 << 24;
  require(!packing.trees.empty(), fmt::format("{}: there is no tree to play", name));
  require(pipelining.tracks >= 1 && pipelining.pieces >= 1 &&
              pipelining.pieces % pipelining.tracks == 0,
          fmt::format("{}: {} pieces cannot be dealt to {} tracks", name, pipelining.pieces,
                      pipelining.tracks));
  const PieceLayout layout(packing, pipelining);
  require(layout.chunks() <= most_chunks,
          fmt::format("{}: {} chunks are more than {}", name, layout.chunks(), most_chunks));
  const int tracks = pipelining.tracks;
  const int turns = pipelining.pieces / tracks;
  const auto moves = std::make_shared<const TreeMoves>(packing, layout, turns);
  const Shape shape{packing.ranks, static_cast<int>(layout.chunks()),
                    turns + moves->longest_offset()};
  const std::vector<int> runs = moves->runs(turns);
  const auto play = [&](int track) {
    const auto round = [moves, turns, tracks, track](Rank rank, int t, Round& out) {
      moves->round(rank, t, turns, tracks, track, out);
    };
    return Schedule(name, shape, round, layout.partition(), runs);
  };
  if (tracks == 1) return play(-1);
  std::vector<Schedule> parts;
  for (int track = 0; track < tracks; ++track) parts.push_back(play(track));
  return play(-1).with_tracks(std::move(parts));
}

SumRounds::SumRounds(const TreePacking& packing, int late_begin)
    : late_(packing.late), late_begin_(late_begin), longest_(longest_way(packing)) {}

std::vector<int> SumRounds::of(const PackedTree& tree) const {
  if (tree.reduce.empty()) return {};
  std::vector<int> rounds;
  if (late_.empty()) {
    const int deepest = tree.broadcast.empty() ? longest_ : depth_of(tree.reduce);
    rounds = depths(tree.reduce);
    for (int& round : rounds) round = deepest - round;
    return rounds;
  }
  const std::vector<bool> is_late = late_edges(tree, late_);
  rounds = heights(tree, is_late, false);
  const std::vector<int> late = heights(tree, is_late, true);
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (is_late[r] || tree.reduce[r] < 0) rounds[r] = late_begin_ + late[r];
  }
  return rounds;
}

int early_way(const TreePacking& packing) {
  int longest = 0;
  if (packing.late.empty()) return longest;
  for (const PackedTree& tree : packing.trees) {
    for (const int above : heights(tree, late_edges(tree, packing.late), false)) {
      longest = std::max(longest, above);
    }
  }
  return longest;
}

int longest_way(const TreePacking& packing) {
  int longest = 0;
  for (const PackedTree& tree : packing.trees) longest = std::max(longest, way_of(tree));
  return longest;
}

}  // namespace collbench

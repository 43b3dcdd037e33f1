#include "heuristics/synthesis/timetable.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"

namespace collbench {
namespace {

// How much of the time of the fullest link another one is busy that counts as well used.
constexpr double well_used = 0.5;

struct TreeShape {
  const PackedTree* tree;
  std::vector<int> reduce_children;  // how many, by rank
  std::vector<std::vector<Rank>> broadcast_children;
  int way = 0;  // sum of depths
};

TreeShape shape_of(const PackedTree& tree, int ranks) {
  TreeShape shape{&tree, std::vector<int>(ranks, 0), std::vector<std::vector<Rank>>(ranks), 0};
  for (Rank r = 0; r < ranks; ++r) {
    if (r == tree.root) continue;
    if (!tree.reduce.empty()) ++shape.reduce_children[tree.reduce[r]];
    if (!tree.broadcast.empty()) shape.broadcast_children[tree.broadcast[r]].push_back(r);
  }
  for (const std::vector<Rank>* parents : {&tree.reduce, &tree.broadcast}) {
    if (parents->empty()) continue;
    const std::vector<int> depth = depths(*parents);
    shape.way += *std::max_element(depth.begin(), depth.end());
  }
  return shape;
}

class TimetableMaker {
 public:
  TimetableMaker(const Topology& topology, const TreePacking& packing,
                 const std::vector<ChunkOnTree>& order, int room)
      : ranks_(packing.ranks), order_(order), paths_(topology) {
    for (const PackedTree& tree : packing.trees) shapes_.push_back(shape_of(tree, ranks_));
    const double slowest = slowest_well_used(topology, packing);
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      const double capacity = topology.capacity(static_cast<LinkId>(l));
      per_round_.push_back(room * capacity / slowest * (1 + 1e-9));
    }
    room_.resize(per_round_.size());
    // Chunks that begin in a round, on the average, times the rounds that each takes.
    int longest_way = 0;
    for (const TreeShape& shape : shapes_) longest_way = std::max(longest_way, shape.way);
    const double begin = room / (packing.seconds_per_byte * slowest);
    window_ = static_cast<std::size_t>(4 * begin * (longest_way + 1)) + 16;
  }

  std::vector<TimedHop> run() {
    waiting_.resize(order_.size());
    left_.assign(order_.size(), 0);
    for (int t = 0; oldest_ < order_.size(); ++t) {
      release();
      for (std::size_t l = 0; l < room_.size(); ++l) {
        room_[l] =
            static_cast<int>(std::floor((t + 1) * per_round_[l]) - std::floor(t * per_round_[l]));
      }
      const std::size_t first = hops_.size();
      std::size_t kept = 0;
      for (std::size_t i = 0; i < ready_.size(); ++i) {
        if (!take(ready_[i], t)) ready_[kept++] = ready_[i];
      }
      ready_.resize(kept);
      arrive(first);
      while (oldest_ < released_ && left_[oldest_] == 0) ++oldest_;
    }
    return std::move(hops_);
  }

 private:
  struct Hop {
    int place;  // in order_
    Rank from;
    Rank to;
    bool reduces;
  };

  /// Lets the next chunks begin: no more than a window beyond the oldest that is not done.
  void release() {
    for (; released_ < order_.size() && released_ < oldest_ + window_; ++released_) {
      const TreeShape& shape = shapes_[order_[released_].tree];
      const PackedTree& tree = *shape.tree;
      const int place = static_cast<int>(released_);
      left_[released_] =
          (ranks_ - 1) * ((tree.reduce.empty() ? 0 : 1) + (tree.broadcast.empty() ? 0 : 1));
      if (tree.reduce.empty()) {
        broadcast_from(place, tree.root);
        continue;
      }
      waiting_[released_] = shape.reduce_children;
      for (Rank r = 0; r < ranks_; ++r) {
        if (shape.reduce_children[r] == 0 && r != tree.root) {
          ready_.push_back({place, r, tree.reduce[r], true});
        }
      }
    }
  }

  void broadcast_from(int place, Rank rank) {
    const TreeShape& shape = shapes_[order_[place].tree];
    for (const Rank child : shape.broadcast_children[rank]) {
      ready_.push_back({place, rank, child, false});
    }
  }

  bool take(const Hop& hop, int round) {
    const auto links = paths_.links(hop.from, hop.to);
    for (const LinkId link : links) {
      if (room_[link] <= 0) return false;
    }
    for (const LinkId link : links) --room_[link];
    hops_.push_back({round, hop.place, hop.from, hop.to, hop.reduces});
    return true;
  }

  /// What the hops from number `first` on make possible in the next round.
  void arrive(std::size_t first) {
    const std::size_t old = ready_.size();
    for (std::size_t i = first; i < hops_.size(); ++i) {
      TimedHop& hop = hops_[i];
      const int place = hop.chunk;
      const PackedTree& tree = *shapes_[order_[place].tree].tree;
      hop.chunk = order_[place].chunk;
      --left_[place];
      if (!hop.reduces) {
        broadcast_from(place, hop.to);
      } else if (--waiting_[place][hop.to] == 0) {
        if (hop.to != tree.root) {
          ready_.push_back({place, hop.to, tree.reduce[hop.to], true});
        } else if (!tree.broadcast.empty()) {
          broadcast_from(place, tree.root);
        }
      }
      if (left_[place] == 0) waiting_[place] = {};
    }
    const auto older = [](const Hop& a, const Hop& b) { return a.place < b.place; };
    const auto middle = ready_.begin() + static_cast<std::ptrdiff_t>(old);
    std::stable_sort(middle, ready_.end(), older);
    std::inplace_merge(ready_.begin(), middle, ready_.end(), older);
  }

  int ranks_;
  const std::vector<ChunkOnTree>& order_;
  RankPaths paths_;
  std::vector<TreeShape> shapes_;
  std::vector<double> per_round_;  // chunks, by link
  std::vector<int> room_;          // of this round
  std::size_t window_ = 0;
  std::size_t released_ = 0;
  std::size_t oldest_ = 0;                 // place of the oldest chunk that is not done
  std::vector<std::vector<int>> waiting_;  // by place and rank: children whose sums are missing
  std::vector<int> left_;                  // by place: hops to go
  std::vector<Hop> ready_;                 // oldest chunks first
  std::vector<TimedHop> hops_;             // `chunk` is a place until it has arrived
};

}  // namespace

double slowest_well_used(const Topology& topology, const TreePacking& packing) {
  const std::vector<double> load = link_loads(topology, packing.trees);
  double slowest = std::numeric_limits<double>::infinity();
  for (std::size_t l = 0; l < load.size(); ++l) {
    const double capacity = topology.capacity(static_cast<LinkId>(l));
    if (load[l] > well_used * packing.seconds_per_byte * capacity) {
      slowest = std::min(slowest, capacity);
    }
  }
  return slowest;
}

std::vector<TimedHop> timetable(const Topology& topology, const TreePacking& packing,
                                const std::vector<ChunkOnTree>& order, int room) {
  return TimetableMaker(topology, packing, order, room).run();
}

}  // namespace collbench

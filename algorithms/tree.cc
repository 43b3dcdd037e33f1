#include "algorithms/tree.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "core/error.h"

namespace collbench {
namespace {

// One tree and its train of segments over the chunks [first, first + segments).
class Train {
 public:
  Train(const std::vector<Rank>& parents, int segments, int first)
      : segments_(segments), first_(first), nodes_(parents.size()) {
    for (std::size_t r = 0; r < parents.size(); ++r) {
      nodes_[r].parent = parents[r];
      for (Rank at = static_cast<Rank>(r); parents[at] >= 0; at = parents[at]) ++nodes_[r].depth;
      height_ = std::max(height_, nodes_[r].depth);
    }
    for (const Rank parent : parents) {
      if (parent >= 0) ++nodes_[parent].children;
    }
    children_.resize(parents.size());
    std::vector<int> next{0};
    for (Node& node : nodes_) {
      node.first_child = next.back();
      next.push_back(node.first_child + node.children);
    }
    for (std::size_t r = 0; r < parents.size(); ++r) {
      if (parents[r] >= 0) children_[next[parents[r]]++] = static_cast<Rank>(r);
    }
  }

  int height() const { return height_; }
  int rounds() const { return height_ == 0 ? 0 : 2 * height_ + segments_ - 1; }

  // Sums go up and results come down at once. The segment that is furthest goes first.
  void play(Rank r, int t, Round& out) const {
    play_down(r, t - height_, out);
    play_up(r, t, out);
  }

  // Depth d sends a segment up height - d rounds after its start, when its children's sums, one
  // round earlier, are in.
  void play_up(Rank r, int t, Round& out) const {
    const Node& node = nodes_[r];
    const int up = t - (height_ - node.depth);
    if (node.parent >= 0 && runs(up)) out.send(node.parent, {first_ + up});
    if (runs(up + 1)) for_children(node, OpKind::recv_reduce, up + 1, out);
  }

  // A segment comes to depth d after d rounds.
  void play_down(Rank r, int t, Round& out) const {
    const Node& node = nodes_[r];
    const int down = t - node.depth;
    if (runs(down)) for_children(node, OpKind::send, down, out);
    if (node.parent >= 0 && runs(down + 1)) out.recv(node.parent, {first_ + down + 1});
  }

 private:
  struct Node {
    Rank parent = -1;
    int depth = 0;
    int children = 0;
    int first_child = 0;
  };

  bool runs(int segment) const { return segment >= 0 && segment < segments_; }
  void for_children(const Node& node, OpKind kind, int segment, Round& out) const {
    for (int i = node.first_child; i < node.first_child + node.children; ++i) {
      out.push({kind, children_[i], {first_ + segment}});
    }
  }

  int segments_;
  int first_;
  int height_ = 0;
  std::vector<Node> nodes_;
  std::vector<Rank> children_;
};

}  // namespace

Schedule tree_all_reduce(std::string name, const std::vector<std::vector<Rank>>& trees,
                         int segments) {
  require(!trees.empty(), name + ": needs at least one tree");
  require(segments >= 1, name + ": segments must be at least 1, not " + std::to_string(segments));
  const int ranks = static_cast<int>(trees[0].size());
  if (ranks == 1) segments = 1;
  const int chunks = static_cast<int>(trees.size()) * segments;
  std::vector<Schedule> parts;
  for (const std::vector<Rank>& parents : trees) {
    const auto train =
        std::make_shared<Train>(parents, segments, static_cast<int>(parts.size()) * segments);
    // Rounds are alike while the train fills its tree.
    std::vector<int> runs;
    for (int t = 0; t < train->rounds(); ++t) {
      if (t <= train->rounds() - segments || t >= segments) runs.push_back(t);
    }
    const auto play = [train](Rank r, int t, Round& out) { train->play(r, t, out); };
    parts.push_back({name, {ranks, chunks, train->rounds()}, play, {}, std::move(runs)});
  }
  return concurrent(std::move(name), std::move(parts));
}

RootedPhases tree_phases(std::string name, const std::vector<Rank>& parents, int segments) {
  require(segments >= 1, name + ": segments must be at least 1, not " + std::to_string(segments));
  const int ranks = static_cast<int>(parents.size());
  const auto train = std::make_shared<Train>(parents, ranks == 1 ? 1 : segments, 0);
  const int rounds = train->height() == 0 ? 0 : train->height() + segments - 1;
  const Shape shape{ranks, ranks == 1 ? 1 : segments, rounds};
  const auto up = [train](Rank r, int t, Round& out) { train->play_up(r, t, out); };
  const auto down = [train](Rank r, int t, Round& out) { train->play_down(r, t, out); };
  return {{name, shape, up}, {name, shape, down}};
}

std::vector<Rank> binary_tree_parents(int ranks, Rank root) {
  std::vector<Rank> parents(static_cast<std::size_t>(ranks), -1);
  for (int i = 1; i < ranks; ++i) parents[(i + root) % ranks] = ((i - 1) / 2 + root) % ranks;
  return parents;
}

std::vector<Rank> chain_parents(int ranks, Rank root) {
  std::vector<Rank> parents(static_cast<std::size_t>(ranks), -1);
  for (int i = 1; i < ranks; ++i) parents[(i + root) % ranks] = (i - 1 + root) % ranks;
  return parents;
}

Schedule tree(int ranks, int segments) {
  return tree_all_reduce("tree", {binary_tree_parents(ranks, 0)}, segments);
}

}  // namespace collbench

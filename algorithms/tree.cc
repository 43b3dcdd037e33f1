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

  int rounds() const { return height_ == 0 ? 0 : 2 * height_ + segments_ - 1; }

  // Depth d sends a segment up height - d rounds after its start, when its children's sums, one
  // round earlier, are in; the result comes back to depth d after height + d rounds. The segment
  // that is furthest goes first.
  void play(Rank r, int t, Round& out) const {
    const Node& node = nodes_[r];
    const int down = t - (height_ + node.depth);
    const int up = t - (height_ - node.depth);
    if (runs(down)) for_children(node, OpKind::send, down, out);
    if (node.parent >= 0) {
      if (runs(down + 1)) out.recv(node.parent, {first_ + down + 1});
      if (runs(up)) out.send(node.parent, {first_ + up});
    }
    if (runs(up + 1)) for_children(node, OpKind::recv_reduce, up + 1, out);
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

Schedule tree(int ranks, int segments) {
  std::vector<Rank> parents{-1};
  for (Rank r = 1; r < ranks; ++r) parents.push_back((r - 1) / 2);
  return tree_all_reduce("tree", {parents}, segments);
}

}  // namespace collbench

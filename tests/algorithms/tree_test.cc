// Trains along trees are written out for speed; they are what the combinators would compose.
#include "algorithms/tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/algorithms/pipelined.h"

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "core/error.h"

namespace collbench {
namespace {

// One segment up one tree and back, from its definition.
Schedule composed_tree(const std::vector<Rank>& parents) {
  std::vector<int> depth;
  for (std::size_t r = 0; r < parents.size(); ++r) {
    int d = 0;
    for (Rank at = static_cast<Rank>(r); parents[at] >= 0; at = parents[at]) ++d;
    depth.push_back(d);
  }
  const int height = *std::max_element(depth.begin(), depth.end());
  const auto reduce = [parents, depth, height](Rank r, int t, Round& out) {
    if (t == height - depth[r]) out.send(parents[r], {0});
    for (std::size_t child = 0; child < parents.size(); ++child) {
      const bool sends = parents[child] == r && t == height - depth[child];
      if (sends) out.recv_reduce(static_cast<Rank>(child), {0});
    }
  };
  const Schedule up("tree", {static_cast<int>(parents.size()), 1, height}, reduce);
  return sequence("tree", {up, mirrored(up)});
}

void expect_equal(const Schedule& a, const Schedule& b) {
  ASSERT_EQ(a.rounds(), b.rounds());
  ASSERT_EQ(a.chunks(), b.chunks());
  Round one;
  Round other;
  for (Rank r = 0; r < a.ranks(); ++r) {
    for (int t = 0; t < a.rounds(); ++t) {
      a.round(r, t, one);
      b.round(r, t, other);
      EXPECT_TRUE(
          std::equal(one.ops().begin(), one.ops().end(), other.ops().begin(), other.ops().end()))
          << a.ranks() << " ranks: rank " << r << " in round " << t;
    }
  }
}

TEST(Tree, IsATrainAlongABinaryTree) {
  for (int n = 1; n <= 40; ++n) {
    std::vector<Rank> parents{-1};
    for (Rank r = 1; r < n; ++r) parents.push_back((r - 1) / 2);
    for (const int segments : {1, 2, 8, 30}) {
      expect_equal(tree(n, segments), pipelined(composed_tree(parents), segments));
    }
  }
}

TEST(DoubleTree, IsTwoTrainsAtOnce) {
  for (int n = 1; n <= 40; ++n) {
    for (const int segments : {1, 5, 8}) {
      std::vector<Schedule> halves;
      std::vector<Rank> all;
      for (Rank r = 0; r < n; ++r) all.push_back(r);
      for (const std::vector<Rank>& parents : double_tree_parents(n)) {
        const Schedule half = pipelined(composed_tree(parents), segments);
        const int first = halves.empty() ? 0 : half.chunks();
        halves.push_back(embed(half, n, 2 * half.chunks(), all, {first, half.chunks()}));
      }
      expect_equal(double_tree(n, segments), concurrent("both", halves));
    }
  }
}

TEST(Tree, RefusesTrainsWithoutSegments) {
  EXPECT_THROW(tree(4, 0), InvalidArgument);
  EXPECT_THROW(tree_all_reduce("none", {}, 1), InvalidArgument);
}

}  // namespace
}  // namespace collbench

// The fast refinement against the definition: repeat "colour, and colours of neighbours" until
// nothing splits.
#include "simulator/refinement.h"

#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "core/random.h"

namespace collbench {
namespace {

struct Graph {
  int vertices = 0;
  std::vector<std::int32_t> colours;
  std::vector<Adjacency> kinds;
};

Graph random_graph(std::uint64_t seed) {
  RandomEngine random = random_engine(seed, "graphs");
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  Graph graph;
  graph.vertices = 1 + below(60);
  const int colours = 1 + below(3);
  for (int v = 0; v < graph.vertices; ++v) graph.colours.push_back(below(colours));
  for (int kind = 0; kind < 2; ++kind) {
    std::vector<std::int32_t> a;
    std::vector<std::int32_t> b;
    // Steps of a fixed width leave symmetry; a few random edges take some of it away.
    const int step = 1 + below(graph.vertices);
    for (int v = 0; v < graph.vertices; ++v) {
      a.push_back(v);
      b.push_back((v + step) % graph.vertices);
    }
    for (int extra = below(3); extra > 0; --extra) {
      a.push_back(below(graph.vertices));
      b.push_back(below(graph.vertices));
    }
    graph.kinds.push_back(adjacency(graph.vertices, a, b));
  }
  return graph;
}

std::vector<std::int32_t> refined_slowly(const Graph& graph) {
  using Key = std::tuple<std::int32_t, std::vector<std::map<std::int32_t, int>>>;
  std::vector<std::int32_t> colours = graph.colours;
  for (std::size_t before = 0;;) {
    std::vector<Key> keys;
    for (int v = 0; v < graph.vertices; ++v) {
      std::vector<std::map<std::int32_t, int>> counts(graph.kinds.size());
      for (std::size_t k = 0; k < graph.kinds.size(); ++k) {
        const Adjacency& edges = graph.kinds[k];
        for (std::uint32_t i = edges.begin[v]; i < edges.begin[v + 1]; ++i) {
          ++counts[k][colours[edges.to[i]]];
        }
      }
      keys.emplace_back(colours[v], counts);
    }
    std::map<Key, std::int32_t> numbers;
    for (const Key& key : keys) numbers.emplace(key, static_cast<std::int32_t>(numbers.size()));
    for (int v = 0; v < graph.vertices; ++v) colours[v] = numbers[keys[v]];
    if (numbers.size() == before) return colours;
    before = numbers.size();
  }
}

TEST(EquitablePartition, IsTheOneOfTheDefinition) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Graph graph = random_graph(seed);
    const Classes fast = equitable_partition(graph.colours, graph.kinds);
    const std::vector<std::int32_t> slow = refined_slowly(graph);
    for (int v = 0; v < graph.vertices; ++v) {
      for (int w = 0; w < v; ++w) {
        ASSERT_EQ(fast.class_of[v] == fast.class_of[w], slow[v] == slow[w])
            << "seed " << seed << ", vertices " << v << " and " << w;
      }
    }
  }
}

TEST(EquitablePartition, NumbersClassesByTheirFirstMember) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = random_graph(seed);
    const Classes classes = equitable_partition(graph.colours, graph.kinds);
    EXPECT_EQ(std::accumulate(classes.size.begin(), classes.size.end(), 0), graph.vertices);
    int next = 0;
    for (int v = 0; v < graph.vertices; ++v) {
      ASSERT_LE(classes.class_of[v], next);
      if (classes.class_of[v] == next) {
        EXPECT_EQ(classes.first[next++], v);
      }
    }
    EXPECT_EQ(next, classes.count());
  }
}

TEST(EquitablePartition, KeepsACycleWholeAndSplitsAPathByDistanceFromItsEnds) {
  const std::vector<std::int32_t> colours(7, 0);
  const std::vector<std::int32_t> from{0, 1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> to{1, 2, 3, 4, 5, 6, 0};
  const Adjacency cycle = adjacency(7, from, to);
  EXPECT_EQ(equitable_partition(colours, {&cycle, 1}).count(), 1);
  const Adjacency path = adjacency(7, std::span(from).first(6), std::span(to).first(6));
  EXPECT_EQ(equitable_partition(colours, {&path, 1}).class_of,
            (std::vector<std::int32_t>{0, 1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(equitable_partition(colours, {&path, 1}, 4).count(), 4);
  EXPECT_THROW(equitable_partition(colours, {&path, 1}, 3), LittleSymmetry);
}

}  // namespace
}  // namespace collbench

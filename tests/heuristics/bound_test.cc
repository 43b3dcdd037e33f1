// Bounds of collectives against optima that others computed (tests/heuristics/networks).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "heuristics/synthesis/allreduce_bound.h"
#include "heuristics/synthesis/certificate.h"
#include "heuristics/synthesis/linear_program.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

const std::string folder = COLLBENCH_SOURCE_DIR "/tests/heuristics/networks/";

Topology network(const std::string& name) {
  return import_topology_file(folder + name + ".csv").topology;
}

Topology listed(const std::string& links) {
  return from_edge_list("from,to,bandwidth_GBps,kind\n" + links, "net.csv").topology;
}

struct BoundRow {
  std::string name;
  std::string collective;
  std::string seconds;
  std::string trees;
};

std::vector<BoundRow> rows_of(const std::string& collective) {
  std::vector<BoundRow> rows;
  for (const std::string& line : split_at(read_file(folder + "bounds.csv"), '\n')) {
    const std::vector<std::string> cells = split_at(line, ',');
    if (cells.size() > 7 && cells[3] == collective) {
      rows.push_back({cells[0], cells[3], cells[4], cells[7]});
    }
  }
  return rows;
}

using Computed = ThroughputBound (*)(const CapacityGraph&);

void expect_all_equal(const std::string& collective, std::size_t least, Computed bound) {
  const std::vector<BoundRow> rows = rows_of(collective);
  EXPECT_GE(rows.size(), least);
  for (const BoundRow& row : rows) {
    EXPECT_EQ(to_string(bound(capacity_graph(network(row.name))).seconds_per_gigabyte), row.seconds)
        << row.name << ' ' << collective;
  }
}

/// Of the cut, recomputed from links: shards or sums that cross over capacity.
double ratio_of(const Topology& topology, const BindingCut& cut, bool gathers) {
  std::vector<bool> inside(topology.vertices(), false);
  int ranks = 0;
  for (const Vertex v : cut.members) {
    inside[v] = true;
    ranks += v < topology.hosts() ? 1 : 0;
  }
  double rate = 0;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    const bool crosses = inside[link.from] != inside[link.to] && inside[link.to] == cut.entering;
    if (crosses) rate += topology.capacity(static_cast<LinkId>(i));
  }
  const bool of_members = gathers != cut.entering;
  return (of_members ? ranks : topology.hosts() - ranks) * 1e9 / rate / topology.hosts();
}

TEST(Bound, OfAllGatherIsTheOptimumWithItsTreesAndCut) {
  const std::vector<BoundRow> rows = rows_of("allgather");
  EXPECT_GE(rows.size(), 70U);
  for (const BoundRow& row : rows) {
    const Topology topology = network(row.name);
    const ThroughputBound bound = all_gather_bound(capacity_graph(topology));
    EXPECT_EQ(to_string(bound.seconds_per_gigabyte), row.seconds) << row.name;
    EXPECT_EQ(std::to_string(bound.trees_per_root), row.trees) << row.name;
    EXPECT_NEAR(ratio_of(topology, bound.cut, true) / bound.seconds_per_gigabyte.value(), 1, 1e-12)
        << row.name;
  }
}

TEST(Bound, OfReduceScatterIsTheOptimumWithItsCut) {
  const std::vector<BoundRow> rows = rows_of("reducescatter");
  EXPECT_GE(rows.size(), 70U);
  for (const BoundRow& row : rows) {
    const Topology topology = network(row.name);
    const ThroughputBound bound = reduce_scatter_bound(capacity_graph(topology));
    EXPECT_EQ(to_string(bound.seconds_per_gigabyte), row.seconds) << row.name;
    EXPECT_NEAR(ratio_of(topology, bound.cut, false) / bound.seconds_per_gigabyte.value(), 1, 1e-12)
        << row.name;
  }
}

TEST(Bound, OfFewTreesIsTheirOptimum) {
  expect_all_equal("allgather_k1", 70, [](const auto& g) { return all_gather_bound(g, 1); });
  expect_all_equal("allgather_k2", 70, [](const auto& g) { return all_gather_bound(g, 2); });
  expect_all_equal("allgather_k4", 70, [](const auto& g) { return all_gather_bound(g, 4); });
}

TEST(Bound, OfAllReduceByOneCutAndByHalvesAreTheirOptima) {
  expect_all_equal("allreduce_lower", 78, weakest_allreduce_bound);
  expect_all_equal("allreduce_rsag", 84, [](const auto& g) {
    return ThroughputBound{two_halves_bound(g), {}};
  });
}

TEST(Bound, OfAllReduceIsTheOptimumOfTrees) {
  expect_all_equal("allreduce_trees", 77, allreduce_bound);
}

// Every way of forming groups of a few ranks is tried: by restricted growth strings.
TEST(Bound, OfAllReduceOverCablesIsThatOfTheWeakestGroups) {
  std::mt19937 random(7);
  int proven_by_groups = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int ranks = 3 + trial % 5;
    std::map<std::pair<int, int>, std::int64_t> cables;
    const auto add = [&](int a, int b) {
      cables[{std::min(a, b), std::max(a, b)}] += 1 + static_cast<std::int64_t>(random() % 9);
    };
    for (int r = 1; r < ranks; ++r) add(r, static_cast<int>(random() % static_cast<unsigned>(r)));
    for (int i = 0; i < ranks; ++i) {
      const int a = static_cast<int>(random() % static_cast<unsigned>(ranks));
      if (a > 0) add(a, static_cast<int>(random() % static_cast<unsigned>(a)));
    }
    CapacityGraph graph{ranks, ranks, 1'000'000'000, {}};
    for (const auto& [ends, capacity] : cables) {
      graph.arcs.push_back({ends.first, ends.second, capacity});
      graph.arcs.push_back({ends.second, ends.first, capacity});
    }
    std::ranges::sort(graph.arcs, {},
                      [](const CapacityArc& arc) { return std::pair(arc.from, arc.to); });
    Fraction worst{0, 1};
    std::vector<int> group(static_cast<std::size_t>(ranks), 0);
    const std::function<void(int, int)> try_all = [&](int rank, int groups) {
      if (rank < ranks) {
        for (group[rank] = 0; group[rank] <= groups; ++group[rank]) {
          try_all(rank + 1, std::max(groups, group[rank] + 1));
        }
        return;
      }
      WideInteger between = 0;
      for (const auto& [ends, capacity] : cables) {
        if (group[ends.first] != group[ends.second]) between += capacity;
      }
      if (groups > 1 && (groups - 1) * worst.denominator > worst.numerator * between) {
        worst = reduced(groups - 1, between);
      }
    };
    try_all(0, 0);
    const ThroughputBound bound = allreduce_bound(graph);
    EXPECT_EQ(to_string(bound.seconds_per_gigabyte), to_string(worst)) << trial;
    EXPECT_TRUE(bound.exact);
    EXPECT_NEAR(1 / best_allreduce_shares(graph).total / worst.value(), 1, 1e-8) << trial;
    proven_by_groups += bound.groups.size() > 2 ? 1 : 0;
  }
  EXPECT_GT(proven_by_groups, 5);
}

/// Up to 7 ranks and 2 switches, each reaching every other.
CapacityGraph random_graph(std::mt19937& random) {
  const auto below = [&random](int end) { return static_cast<int>(random() % unsigned(end)); };
  CapacityGraph graph{2 + below(6), 0, 1'000'000'000, {}};
  graph.vertices = graph.ranks + below(3);
  const int most = below(2) == 0 ? 1 : 9;
  const int more = below(2) * below(3 * graph.vertices);
  std::map<std::pair<int, int>, std::int64_t> links;
  const auto add = [&](int a, int b) {
    if (a != b) links[{a, b}] += 1 + below(most);
  };
  for (int v = 0; v < graph.vertices; ++v) add(v, (v + 1) % graph.vertices);
  for (int i = 0; i < more; ++i) {
    const int from = below(graph.vertices);
    add(from, below(graph.vertices));
  }
  for (const auto& [ends, capacity] : links) {
    graph.arcs.push_back({ends.first, ends.second, capacity});
  }
  return graph;
}

/// Of a set, as bits: ranks inside and capacity that leaves it.
std::pair<std::int64_t, std::int64_t> cut_of(const CapacityGraph& graph, unsigned set) {
  std::int64_t ranks = 0, leaving = 0;
  for (int r = 0; r < graph.ranks; ++r) ranks += set >> r & 1;
  for (const CapacityArc& arc : graph.arcs) {
    if ((set >> arc.from & 1) != 0 && (set >> arc.to & 1) == 0) leaving += arc.capacity;
  }
  return {ranks, leaving};
}

TEST(Bound, OfAllGatherIsTheWorstOfAllCutsAndItsGroupsAreTheSmallestSetsThatBind) {
  std::mt19937 random(11);
  int grouped = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const CapacityGraph graph = random_graph(random);
    const unsigned all = (1U << graph.vertices) - 1;
    std::pair<std::int64_t, std::int64_t> worst{0, 1};
    std::vector<unsigned> binding;  // complements of the sets that do
    for (unsigned set = 1; set <= all; ++set) {
      const auto [ranks, leaving] = cut_of(graph, set);
      if (ranks == graph.ranks || ranks * worst.second < worst.first * leaving) continue;
      if (ranks * worst.second > worst.first * leaving) binding.clear();
      worst = {ranks, leaving};
      binding.push_back(all & ~set);
    }
    EXPECT_EQ(to_string(all_gather_bound(graph).seconds_per_gigabyte),
              to_string(reduced(worst.first, graph.ranks * worst.second)))
        << trial;
    std::vector<std::vector<Vertex>> groups;
    unsigned covered = 0;
    bool apart = true;
    for (int r = 0; r < graph.ranks; ++r) {
      if ((covered >> r & 1) != 0) continue;
      unsigned smallest = all;
      for (const unsigned set : binding) smallest &= (set >> r & 1) != 0 ? set : all;
      apart = apart && (covered & smallest) == 0;
      covered |= smallest;
      groups.emplace_back();
      for (int v = 0; v < graph.vertices; ++v) {
        if ((smallest >> v & 1) != 0) groups.back().push_back(v);
      }
    }
    if (!apart || groups.size() < 2) groups.clear();
    EXPECT_EQ(binding_groups(graph), groups) << trial;
    grouped += groups.empty() ? 0 : 1;
  }
  EXPECT_GT(grouped, 20);
}

TEST(Bound, SharesKeepToTheLinks) {
  const CapacityGraph graph = capacity_graph(network("star_8_slow_0p5"));
  const AllreduceShares shares = best_allreduce_shares(graph);
  double roots = 0;
  for (const double root : shares.root) roots += root;
  EXPECT_NEAR(roots, shares.total, 1e-9 * roots);
  for (std::size_t a = 0; a < graph.arcs.size(); ++a) {
    EXPECT_LE(shares.broadcast[a] + shares.reduce[a],
              static_cast<double>(graph.arcs[a].capacity) * (1 + 1e-9));
  }
}

TEST(Bound, RatesThatDoNotFitProductsOf64BitsAreExactToo) {
  // Two of three shards enter g0 through 999,999,999,500,000,000 + 1 bytes per second; products of
  // that with ranks and capacities exceed 2^64.
  const Topology fast = listed(
      "g0,g1,1000000000,a\ng1,g2,1000000000,a\ng2,g0,999999999.5,a\n"
      "g1,g0,0.000000001,a\n");
  EXPECT_EQ(to_string(all_gather_bound(capacity_graph(fast)).seconds_per_gigabyte),
            "2000000000/2999999998500000003");
}

TEST(Bound, OfPartsThatDoNotReachEachOtherIsRefusedWithTheParts) {
  CapacityGraph graph{4, 4, 1, {{0, 1, 1}, {1, 0, 1}, {2, 3, 1}, {3, 2, 1}}};
  try {
    all_gather_bound(graph);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("no link leads from"));
  }
  EXPECT_THROW(weakest_allreduce_bound(graph), InvalidArgument);
  EXPECT_THROW(all_gather_bound(CapacityGraph{1, 1, 1, {}}), InvalidArgument);
}

TEST(LinearProgram, GrowsByRowsToTheSameOptimum) {
  LinearProgram program({3, 2}, 100);  // maximise 3 x + 2 y
  program.add({{{0, 1}, {1, 1}}, 4}, true);
  program.add({{{0, 1}, {1, 3}}, 6}, false);
  program.solve();
  EXPECT_NEAR(program.gain(), 12, 1e-9);
  program.add({{{0, 1}}, 3}, false);
  program.solve();
  EXPECT_NEAR(program.gain(), 11, 1e-9);
  EXPECT_NEAR(program.values()[1], 1, 1e-9);
}

TEST(Certificate, SaysTheCutInWordsAndAsJson) {
  const Topology box = network("dgx_a100_1");
  EXPECT_THAT(to_text(certify(box, CollectiveKind::all_gather)),
              HasSubstr("7 of 8 shards have to enter g0 through 300 GB/s"));
  const std::string json = to_json(certify(box, CollectiveKind::reduce_scatter));
  EXPECT_THAT(json, HasSubstr("\"seconds_per_GB\": \"7/2400\""));
  EXPECT_THAT(json, HasSubstr("\"entering\": false"));
  EXPECT_THAT(to_text(certify(box, CollectiveKind::all_reduce)),
              HasSubstr("8 ranks have to pass each other 2 x 7 vectors"));
  EXPECT_THAT(to_text(certify(network("star_8_slow_0p25"), CollectiveKind::all_reduce)),
              HasSubstr("the whole vector has to"));
}

}  // namespace
}  // namespace collbench

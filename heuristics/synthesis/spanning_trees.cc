#include "heuristics/synthesis/spanning_trees.h"

#include <algorithm>

namespace collbench {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double equal_within = 1e-9;  // relative: costs this near are ties

/// Which vertices lie on a cycle of chosen parents, by number of the cycle; -1 elsewhere.
std::vector<int> cycles_of(const std::vector<Rank>& parents, int& count) {
  const int n = static_cast<int>(parents.size());
  std::vector<int> seen(n, -1), cycle(n, -1);
  count = 0;
  for (int start = 0; start < n; ++start) {
    int v = start;
    while (v >= 0 && seen[v] < 0) {
      seen[v] = start;
      v = parents[v];
    }
    if (v < 0 || seen[v] != start) continue;
    for (int w = v; cycle[w] < 0; w = parents[w]) cycle[w] = count;
    ++count;
  }
  return cycle;
}

/// The rank that a walk from `start` meets last; `from` is where it met each.
Rank farthest(const std::vector<std::vector<Rank>>& neighbours, Rank start,
              std::vector<Rank>& from) {
  std::vector<Rank> order{start};
  from[start] = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const Rank next : neighbours[order[i]]) {
      if (next == from[order[i]]) continue;
      from[next] = order[i];
      order.push_back(next);
    }
  }
  return order.back();
}

/// The middle of a longest path; of two `wanted`, if it is one.
Rank center_of(const std::vector<std::vector<Rank>>& neighbours, Rank wanted) {
  std::vector<Rank> from(neighbours.size());
  const Rank end = farthest(neighbours, farthest(neighbours, 0, from), from);
  std::vector<Rank> path;
  for (Rank v = end; v >= 0; v = from[v]) path.push_back(v);
  const bool is_other = path.size() % 2 == 0 && path[path.size() / 2 - 1] == wanted;
  return is_other ? wanted : path[path.size() / 2];
}

}  // namespace

// Edmonds' contraction: the cheapest edge into every vertex; cycles become vertices.
std::vector<Rank> cheapest_arborescence(const PairCosts& costs, Rank root) {
  const int n = costs.ranks;
  std::vector<Rank> parents(n, -1);
  for (int v = 0; v < n; ++v) {
    if (v == root) continue;
    parents[v] = root;
    for (int u = 0; u < n; ++u) {
      if (u != v && costs.at(u, v) < costs.at(parents[v], v) * (1 - equal_within)) parents[v] = u;
    }
  }
  int cycles = 0;
  const std::vector<int> cycle = cycles_of(parents, cycles);
  if (cycles == 0) return parents;
  std::vector<int> number(n);
  int next = cycles;
  for (int v = 0; v < n; ++v) number[v] = cycle[v] >= 0 ? cycle[v] : next++;
  PairCosts smaller{next, std::vector<double>(static_cast<std::size_t>(next) * next, infinite)};
  std::vector<std::pair<int, int>> ends(smaller.cost.size());
  for (int u = 0; u < n; ++u) {
    for (int v = 0; v < n; ++v) {
      if (u == v || number[u] == number[v] || costs.at(u, v) == infinite) continue;
      const double saved = cycle[v] >= 0 ? costs.at(parents[v], v) : 0;
      const std::size_t pair = static_cast<std::size_t>(number[u]) * next + number[v];
      if (costs.at(u, v) - saved >= smaller.cost[pair]) continue;
      smaller.cost[pair] = costs.at(u, v) - saved;
      ends[pair] = {u, v};
    }
  }
  const std::vector<Rank> inner = cheapest_arborescence(smaller, number[root]);
  for (int c = 0; c < next; ++c) {
    if (inner[c] < 0) continue;
    const auto [from, to] = ends[static_cast<std::size_t>(inner[c]) * next + c];
    parents[to] = from;  // opens the cycle, if `to` is on one
  }
  return parents;
}

PairCosts both_ways(PairCosts costs) {
  constexpr int side = 8;  // squares of cache lines: the columns of a large table lie far apart
  for (int row = 0; row < costs.ranks; row += side) {
    for (int column = row; column < costs.ranks; column += side) {
      for (int a = row; a < std::min(row + side, costs.ranks); ++a) {
        for (int b = std::max(a + 1, column); b < std::min(column + side, costs.ranks); ++b) {
          costs.at(a, b) = costs.at(b, a) = costs.at(a, b) + costs.at(b, a);
        }
      }
    }
  }
  return costs;
}

std::vector<Rank> rooted_in_the_middle(const std::vector<std::vector<Rank>>& neighbours,
                                       Rank wanted) {
  std::vector<Rank> parents(neighbours.size(), -1);
  farthest(neighbours, center_of(neighbours, wanted), parents);
  return parents;
}

std::vector<int> depths(const std::vector<Rank>& parents) {
  std::vector<int> depth(parents.size(), -1);
  for (std::size_t v = 0; v < parents.size(); ++v) {
    std::vector<Rank> way;
    Rank at = static_cast<Rank>(v);
    while (at >= 0 && depth[at] < 0) {
      way.push_back(at);
      at = parents[at];
    }
    int next = at < 0 ? 0 : depth[at] + 1;
    for (auto w = way.rbegin(); w != way.rend(); ++w) depth[*w] = next++;
  }
  return depth;
}

std::vector<Rank> with_root(std::vector<Rank> parents, Rank root) {
  Rank above = -1;
  for (Rank at = root; at >= 0;) {
    const Rank next = std::exchange(parents[at], above);
    above = at;
    at = next;
  }
  return parents;
}

int depth_of(const std::vector<Rank>& parents) {
  if (parents.empty()) return 0;
  const std::vector<int> depth = depths(parents);
  return *std::max_element(depth.begin(), depth.end());
}

}  // namespace collbench

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "bench/reports/replay.h"

namespace collbench {
namespace {

/// Rows from the hosts upwards: how many links a vertex is away from the nearest host. What no
/// link joins to a host stands above all others.
std::vector<int> levels_of(const Replay& replay) {
  constexpr int unknown = -1;
  std::vector<int> level;
  for (const ReplayedVertex& vertex : replay.vertices) level.push_back(vertex.host ? 0 : unknown);
  int current = 0;
  for (int found = 1; found > 0; ++current) {
    found = 0;
    const auto reach = [&](int from, int to) {
      int& beyond = level[static_cast<std::size_t>(to)];
      if (level[static_cast<std::size_t>(from)] != current || beyond != unknown) return;
      beyond = current + 1;
      ++found;
    };
    for (const ReplayedLink& link : replay.links) {
      reach(link.from, link.to);
      reach(link.to, link.from);
    }
  }
  std::replace(level.begin(), level.end(), unknown, current);
  return level;
}

/// A grid as a grid: the first two axes across and down, further ones shift the whole.
void place_grid(const Layout& layout, std::vector<ReplayedVertex>& vertices) {
  for (std::size_t host = 0; host < vertices.size(); ++host) {
    int rest = static_cast<int>(host);
    double step_x = 1;
    double step_y = 1;
    for (std::size_t axis = 0; axis < layout.dims.size(); ++axis) {
      const int place = rest % layout.dims[axis];
      rest /= layout.dims[axis];
      const bool across = axis % 2 == 0;
      (across ? vertices[host].x : vertices[host].y) += place * (across ? step_x : step_y);
      // The third axis lies askew, so that its links do not hide those of the first.
      if (axis >= 2) (across ? vertices[host].y : vertices[host].x) += 0.35 * place;
      (across ? step_x : step_y) *= layout.dims[axis] + 0.6;
    }
  }
}

/// What a host's name says before its own number: "node 3 " of "node 3 host 1".
std::string node_of(const std::string& name) {
  const std::size_t host = name.rfind("host");
  return host == std::string::npos ? "" : name.substr(0, host);
}

void place_hosts_in_a_row(std::vector<ReplayedVertex>& vertices) {
  double x = 0;
  const ReplayedVertex* before = nullptr;
  for (ReplayedVertex& vertex : vertices) {
    if (!vertex.host) continue;
    if (before != nullptr && node_of(before->name) != node_of(vertex.name)) ++x;
    vertex.x = x++;
    before = &vertex;
  }
}

void place_in_rows(Replay& replay) {
  std::vector<ReplayedVertex>& vertices = replay.vertices;
  const std::vector<int> level = levels_of(replay);
  place_hosts_in_a_row(vertices);
  const int highest = *std::max_element(level.begin(), level.end());
  for (int row = 1; row <= highest; ++row) {
    std::map<int, std::pair<double, int>> below;  // sum of places and number of links
    const auto hangs = [&](int upper, int lower) {
      if (level[static_cast<std::size_t>(upper)] != row) return;
      if (level[static_cast<std::size_t>(lower)] >= row) return;
      below[upper].first += vertices[static_cast<std::size_t>(lower)].x;
      ++below[upper].second;
    };
    // A table has only the directions that were used.
    for (const ReplayedLink& link : replay.links) {
      hangs(link.to, link.from);
      hangs(link.from, link.to);
    }
    std::map<double, int> taken;  // how many already stand in the middle of the same hosts
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      if (level[i] != row) continue;
      const auto [sum, links] = below[static_cast<int>(i)];
      const double middle = links > 0 ? sum / links : 0;
      const int before = taken[middle]++;
      vertices[i].x = middle + (before % 2 == 1 ? -1 : 1) * ((before + 1) / 2) * 1.0;
      vertices[i].y = -2.0 * row;
    }
  }
}

void place_in_a_circle(std::vector<ReplayedVertex>& vertices) {
  const auto count = static_cast<double>(vertices.size());
  const double radius = count / (2 * std::numbers::pi);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / count;
    vertices[i].x = radius * std::sin(angle);
    vertices[i].y = -radius * std::cos(angle);
  }
}

}  // namespace

void place_vertices(Replay& replay, const Layout& layout) {
  const bool only_hosts = std::all_of(replay.vertices.begin(), replay.vertices.end(),
                                      [](const ReplayedVertex& vertex) { return vertex.host; });
  if (only_hosts && layout.kind == Layout::Kind::grid) {
    place_grid(layout, replay.vertices);
  } else if (only_hosts) {
    place_in_a_circle(replay.vertices);
  } else {
    place_in_rows(replay);
  }
}

}  // namespace collbench

#include "topologies/draw/outline.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include <fmt/format.h>

namespace collbench {
namespace {

constexpr int most_switches = 64;  // shapes of switches in one row

// How many hosts along each axis of the layout are one shape.
std::vector<int> block_lengths(const Layout& layout, int most_hosts) {
  std::vector<int> length(layout.dims.size(), 1);
  const auto blocks = [&](std::size_t i) { return (layout.dims[i] + length[i] - 1) / length[i]; };
  const auto total = [&] {
    double product = 1;
    for (std::size_t i = 0; i < length.size(); ++i) product *= blocks(i);
    return product;
  };
  while (total() > most_hosts) {
    std::size_t axis = 0;
    if (layout.kind == Layout::Kind::grid) {
      for (std::size_t i = 1; i < length.size(); ++i) {
        if (blocks(i) > blocks(axis)) axis = i;
      }
    } else {
      while (blocks(axis) == 1) ++axis;
    }
    length[axis] = std::min(length[axis] * 2, layout.dims[axis]);
  }
  return length;
}

// The fewest links from any host, for the rows of switches.
std::vector<int> distances(const Topology& topology) {
  std::vector<std::vector<Vertex>> near(topology.vertices());
  for (const Link& link : topology.links()) {
    near[link.from].push_back(link.to);
    near[link.to].push_back(link.from);
  }
  std::vector<int> distance(topology.vertices(), -1);
  std::queue<Vertex> next;
  for (Host h = 0; h < topology.hosts(); ++h) {
    distance[h] = 0;
    next.push(h);
  }
  for (; !next.empty(); next.pop()) {
    for (const Vertex v : near[next.front()]) {
      if (distance[v] >= 0) continue;
      distance[v] = distance[next.front()] + 1;
      next.push(v);
    }
  }
  return distance;
}

// Rows of vertices: hosts 0, switches above, dangling chains of adapters and ports below.
std::vector<int> levels(const Topology& topology) {
  std::vector<std::map<Vertex, int>> near(topology.vertices());
  for (const Link& link : topology.links()) {
    if (link.from == link.to) continue;
    ++near[link.from][link.to];
    ++near[link.to][link.from];
  }
  std::vector<int> level = distances(topology);
  std::vector<Vertex> dangling;
  for (Vertex v = topology.hosts(); v < topology.vertices(); ++v) {
    if (near[v].size() == 1) dangling.push_back(v);
  }
  // From the ends of a chain inwards; an end lies as deep as its chain is long.
  std::map<Vertex, int> depth;
  for (std::size_t i = 0; i < dangling.size(); ++i) {
    const Vertex v = dangling[i];
    const int below = depth.contains(v) ? depth[v] : 0;
    depth[v] = below;
    if (near[v].empty()) continue;
    const Vertex up = near[v].begin()->first;
    near[up].erase(v);
    if (up < topology.hosts() || near[up].size() != 1) continue;
    depth[up] = std::max(depth[up], below + 1);
    dangling.push_back(up);
  }
  int deepest = 0;
  for (const auto& [v, d] : depth) deepest = std::max(deepest, d);
  for (const auto& [v, d] : depth) level[v] = d - deepest - 1;
  for (int& l : level) l = std::max(l, -4);
  return level;
}

class Grouping {
 public:
  Grouping(const Topology& topology, int most_hosts, Outline& picture)
      : topology_(topology), picture_(picture), shape_(topology.vertices(), -1) {
    const Layout& layout = topology.layout();
    const std::vector<int> length = block_lengths(layout, most_hosts);
    for (std::size_t i = 0; i < length.size(); ++i) {
      picture.blocks.push_back((layout.dims[i] + length[i] - 1) / length[i]);
    }
    group_hosts(layout, length);
    group_switches();
    for (DrawnShape& shape : picture.shapes) label(shape);
  }

  int shape_of(Vertex vertex) const { return shape_[vertex]; }

 private:
  void group_hosts(const Layout& layout, const std::vector<int>& length) {
    int total = 1;
    for (const int b : picture_.blocks) total *= b;
    picture_.shapes.resize(total, DrawnShape{"", 0, 0, 0});
    first_.resize(total, -1);
    for (Host host = 0; host < topology_.hosts(); ++host) {
      int rest = host;
      int shape = 0;
      int stride = 1;
      for (std::size_t i = 0; i < length.size(); ++i) {
        shape += rest % layout.dims[i] / length[i] * stride;
        stride *= picture_.blocks[i];
        rest /= layout.dims[i];
      }
      join(host, shape);
      ++picture_.shapes[shape].hosts;
    }
  }

  void group_switches() {
    const std::vector<int> level = levels(topology_);
    std::map<int, std::vector<Vertex>> rows;
    for (Vertex v = topology_.hosts(); v < topology_.vertices(); ++v) rows[level[v]].push_back(v);
    for (const auto& [row, members] : rows) {
      const std::size_t size = (members.size() + most_switches - 1) / most_switches;
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (i % size == 0) {
          picture_.shapes.push_back(DrawnShape{"", 0, 0, row});
          first_.push_back(-1);
        }
        join(members[i], static_cast<int>(picture_.shapes.size()) - 1);
      }
    }
  }

  void join(Vertex vertex, int shape) {
    shape_[vertex] = shape;
    ++picture_.shapes[shape].members;
    if (first_[shape] < 0) first_[shape] = vertex;
  }

  void label(DrawnShape& shape) const {
    const auto index = static_cast<std::size_t>(&shape - picture_.shapes.data());
    shape.label = topology_.vertex_name(first_[index]);
    if (shape.members > 1) shape.label += fmt::format(" +{}", shape.members - 1);
  }

  const Topology& topology_;
  Outline& picture_;
  std::vector<int> shape_;
  std::vector<Vertex> first_;  // vertex of each shape
};

}  // namespace

Outline outline(const Topology& topology, const std::vector<double>& utilisation, int most_hosts) {
  Outline picture;
  const Grouping grouping(topology, most_hosts, picture);
  // Both directions of a cable are one line; a line remembers how many links go which way.
  std::map<std::tuple<int, int, int>, std::pair<Line, int>> lines;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    const int a = grouping.shape_of(link.from);
    const int b = grouping.shape_of(link.to);
    if (a == b) continue;
    auto& [line, backward] = lines[{std::min(a, b), std::max(a, b), link.link_class}];
    line.link_class = link.link_class;
    line.utilisation = std::max(line.utilisation, utilisation.empty() ? 0 : utilisation[i]);
    line.capacity = std::max(line.capacity, topology.capacity(static_cast<LinkId>(i)));
    ++(a < b ? line.cables : backward);
  }
  for (auto& [key, entry] : lines) {
    auto& [line, backward] = entry;
    std::tie(line.a, line.b, std::ignore) = key;
    line.two_way = backward > 0 && line.cables > 0;
    if (line.cables == 0) {
      std::swap(line.a, line.b);
      line.cables = backward;
    }
    picture.lines.push_back(line);
  }
  const bool has_switches = std::any_of(picture.shapes.begin(), picture.shapes.end(),
                                        [](const DrawnShape& s) { return s.hosts == 0; });
  const auto long_axes = std::count_if(picture.blocks.begin(), picture.blocks.end(),
                                       [](int length) { return length > 1; });
  const bool is_star = has_switches && picture.shapes.back().hosts == 0 &&
                       picture.shapes[picture.shapes.size() - 2].hosts > 0 &&
                       picture.shapes.size() <= 49;
  if (!has_switches && topology.layout().kind == Layout::Kind::grid && long_axes > 1) {
    picture.arrangement = Arrangement::grid;
  } else if (!has_switches || is_star) {
    picture.arrangement = Arrangement::circle;
  }
  return picture;
}

}  // namespace collbench

#include "topologies/draw/outline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace collbench {
namespace {

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

class Grouping {
 public:
  Grouping(const Topology& topology, int most_hosts, Outline& picture)
      : topology_(topology), picture_(picture), shape_(topology.vertices(), -1) {
    group_hosts(block_lengths(topology.layout(), most_hosts));
    if (topology.hosts() > most_hosts) group_switches();
    for (Vertex v = topology.hosts(); v < topology.vertices(); ++v) {
      if (shape_[v] < 0) join(v, static_cast<int>(picture.shapes.size()));
    }
  }

  int shape_of(Vertex vertex) const { return shape_[vertex]; }

 private:
  void group_hosts(const std::vector<int>& length) {
    const std::vector<int>& dims = topology_.layout().dims;
    for (std::size_t i = 0; i < length.size(); ++i) {
      picture_.blocks.push_back((dims[i] + length[i] - 1) / length[i]);
    }
    picture_.shapes.resize(static_cast<std::size_t>(
        std::accumulate(picture_.blocks.begin(), picture_.blocks.end(), 1, std::multiplies<>())));
    for (Host host = 0; host < topology_.hosts(); ++host) {
      int rest = host;
      int shape = 0;
      int stride = 1;
      for (std::size_t i = 0; i < length.size(); ++i) {
        shape += rest % dims[i] / length[i] * stride;
        stride *= picture_.blocks[i];
        rest /= dims[i];
      }
      join(host, shape);
    }
  }

  // From the hosts outwards: switches that links of the same classes join to the same shapes are
  // one.
  void group_switches() {
    using Below = std::set<std::pair<int, std::int32_t>>;
    for (bool has_grown = true; has_grown;) {
      std::map<Vertex, Below> below;
      for (const Link& link : topology_.links()) {
        for (const auto& [near, far] : {std::pair{link.from, link.to}, {link.to, link.from}}) {
          if (shape_[near] < 0 || shape_[far] >= 0) continue;
          below[far].emplace(shape_[near], link.link_class);
        }
      }
      std::map<Below, int> alike;
      for (const auto& [vertex, shapes] : below) {
        join(vertex, alike.try_emplace(shapes, picture_.shapes.size()).first->second);
      }
      has_grown = !below.empty();
    }
  }

  void join(Vertex vertex, int shape) {
    const auto index = static_cast<std::size_t>(shape);
    if (index >= picture_.shapes.size()) picture_.shapes.resize(index + 1);
    DrawnShape& joined = picture_.shapes[index];
    if (joined.members++ == 0) joined = {vertex, 1, vertex < topology_.hosts()};
    shape_[vertex] = shape;
  }

  const Topology& topology_;
  Outline& picture_;
  std::vector<int> shape_;
};

}  // namespace

Outline outline(const Topology& topology, int most_hosts) {
  Outline picture;
  const Grouping grouping(topology, most_hosts, picture);
  // The links there and back of each pair of shapes.
  std::map<std::tuple<int, int, std::int32_t, float>, std::pair<int, int>> links;
  for (const Link& link : topology.links()) {
    const int a = grouping.shape_of(link.from);
    const int b = grouping.shape_of(link.to);
    if (a == b) continue;
    auto& [there, back] = links[{std::min(a, b), std::max(a, b), link.link_class, link.lanes}];
    ++(a < b ? there : back);
  }
  for (const auto& [key, counts] : links) {
    const auto& [a, b, link_class, lanes] = key;
    const auto [there, back] = counts;
    const int cables = std::min(there, back);
    if (cables > 0) picture.lines.push_back({a, b, link_class, lanes, cables, true});
    if (there > back) picture.lines.push_back({a, b, link_class, lanes, there - cables, false});
    if (back > there) picture.lines.push_back({b, a, link_class, lanes, back - cables, false});
  }
  return picture;
}

}  // namespace collbench

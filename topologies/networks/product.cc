#include <memory>
#include <numeric>
#include <utility>

#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// The copies of one factor: along every line of hosts that differ in its coordinate only.
struct ProductAxis {
  Topology network;
  int stride;           // of the coordinate in the number of a host
  LinkId first_link;    // links of one copy after the other
  Vertex first_switch;  // likewise

  int length() const { return network.hosts(); }
  int coordinate(Host host) const { return host / stride % length(); }
  int line(Host host) const { return host % stride + host / (stride * length()) * stride; }

  Vertex vertex(int line, Vertex inner) const {
    if (inner < length()) return line % stride + (line / stride * length() + inner) * stride;
    return first_switch + line * (network.vertices() - length()) + inner - length();
  }
};

}  // namespace

Topology product(std::string name, const std::vector<Topology>& factors, Layout layout) {
  const int hosts = std::accumulate(factors.begin(), factors.end(), 1,
                                    [](int n, const Topology& t) { return n * t.hosts(); });
  auto axes = std::make_shared<std::vector<ProductAxis>>();
  std::vector<LinkClass> classes;
  std::vector<Link> links;
  Vertex vertices = hosts;
  int stride = 1;
  for (const Topology& network : factors) {
    const int lines = hosts / network.hosts();
    const auto copied = static_cast<std::int64_t>(network.links().size()) * lines;
    require_links(name, static_cast<std::int64_t>(links.size()) + copied);
    const ProductAxis axis{network, stride, static_cast<LinkId>(links.size()), vertices};
    const auto first_class = static_cast<std::int32_t>(classes.size());
    for (int line = 0; line < lines; ++line) {
      for (const Link& link : network.links()) {
        links.push_back({axis.vertex(line, link.from), axis.vertex(line, link.to),
                         link.link_class + first_class, link.lanes});
      }
    }
    classes.insert(classes.end(), network.classes().begin(), network.classes().end());
    vertices += lines * (network.vertices() - network.hosts());
    stride *= network.hosts();
    axes->push_back(axis);
  }
  return Topology(std::move(name), hosts, vertices, std::move(layout), std::move(classes),
                  std::move(links), [axes](Host from, Host to, std::vector<LinkId>& out) {
                    std::vector<LinkId> part;
                    for (const ProductAxis& axis : *axes) {
                      const int goal = axis.coordinate(to);
                      axis.network.route(axis.coordinate(from), goal, part);
                      const int line = axis.line(from);
                      const auto copy = static_cast<LinkId>(line * axis.network.links().size());
                      for (const LinkId link : part) out.push_back(axis.first_link + copy + link);
                      from = axis.vertex(line, goal);
                    }
                  });
}

}  // namespace collbench

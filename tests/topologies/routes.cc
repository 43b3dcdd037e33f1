#include "tests/topologies/routes.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace collbench {
namespace {

std::string broken_between(const Topology& topology, Host from, Host to) {
  const std::string name = fmt::format("{}: {} -> {}", topology.name(), topology.vertex_name(from),
                                       topology.vertex_name(to));
  Vertex at = from;
  std::set<Vertex> passed{from};
  for (const LinkId link : route(topology, from, to)) {
    if (link < 0 || link >= static_cast<LinkId>(topology.links().size())) {
      return fmt::format("{}: link {} does not exist", name, link);
    }
    const Link& ends = topology.links()[static_cast<std::size_t>(link)];
    if (ends.from != at) return fmt::format("{}: gap before {}", name, topology.link_name(link));
    at = ends.to;
    if (!passed.insert(at).second) return fmt::format("{}: a loop", name);
  }
  return at == to ? "" : fmt::format("{}: ends at {}", name, topology.vertex_name(at));
}

}  // namespace

LinkClass wire(double gigabytes_per_second, double microseconds) {
  return {.name = "wire",
          .nominal = {gigabytes_per_second * 1e9},
          .latency = Seconds{microseconds * 1e-6},
          .source = "a test"};
}

std::vector<LinkId> route(const Topology& topology, Host from, Host to) {
  std::vector<LinkId> links;
  topology.route(from, to, links);
  return links;
}

std::vector<Vertex> path(const Topology& topology, Host from, Host to) {
  std::vector<Vertex> vertices{from};
  for (const LinkId link : route(topology, from, to)) {
    vertices.push_back(topology.links()[static_cast<std::size_t>(link)].to);
  }
  return vertices;
}

std::string broken_route(const Topology& topology, int sampled) {
  const int hosts = topology.hosts();
  const int count = std::min(hosts, sampled);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      const auto spread = [&](int k) {
        return static_cast<Host>(static_cast<std::int64_t>(k) * hosts / count);
      };
      const std::string broken = broken_between(topology, spread(i), spread(j));
      if (!broken.empty()) return broken;
    }
  }
  return "";
}

}  // namespace collbench

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "topologies/import/graph.h"
#include "topologies/import/import_topology.h"
#include "topologies/import/simgrid_platform.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// Numbers what a platform names: vertices, links and their classes.
class PlatformNumbering {
 public:
  explicit PlatformNumbering(Platform& platform) : platform_(platform) {
    number_vertices();
    number_inner_networks();
    number_links();
    find_ends();
  }

  std::vector<Link> links() { return std::move(links_); }
  std::vector<LinkClass> classes() { return platform_.classes; }
  std::vector<std::string> names() { return std::move(names_); }

 private:
  void number_vertices() {
    for (const int host : platform_.hosts) number(host);
    for (std::size_t i = 0; i < platform_.netpoints.size(); ++i) {
      const Netpoint& point = platform_.netpoints[i];
      if (point.kind != Netpoint::Kind::router) continue;
      const Routing routing = platform_.zones[point.zone].routing;
      if (routing == Routing::full || routing == Routing::shortest) number(static_cast<int>(i));
    }
  }

  void number(int netpoint) {
    platform_.netpoints[netpoint].vertex = static_cast<Vertex>(names_.size());
    names_.push_back(platform_.netpoints[netpoint].name);
  }

  void number_inner_networks() {
    for (Zone& zone : platform_.zones) {
      if (!zone.inner) continue;
      const Topology& inner = zone.inner->topology;
      const Vertex first_host = platform_.netpoints[zone.inner->first_netpoint].vertex;
      const auto first_class = static_cast<std::int32_t>(platform_.classes.size());
      zone.inner->first_link = static_cast<LinkId>(links_.size());
      zone.inner->first_switch = static_cast<Vertex>(names_.size());
      for (Vertex v = inner.hosts(); v < inner.vertices(); ++v) {
        names_.push_back(fmt::format("{} {}", zone.id, inner.vertex_name(v)));
      }
      const auto vertex = [&](Vertex v) {
        return v < inner.hosts() ? first_host + v : zone.inner->first_switch + v - inner.hosts();
      };
      platform_.classes.insert(platform_.classes.end(), inner.classes().begin(),
                               inner.classes().end());
      for (const Link& link : inner.links()) {
        links_.push_back(
            {vertex(link.from), vertex(link.to), link.link_class + first_class, link.lanes});
      }
    }
  }

  void number_links() {
    note_taken_links();
    auto count = static_cast<std::int64_t>(links_.size());
    for (PlatformLink& link : platform_.links) {
      link.first = static_cast<LinkId>(count);
      count += copies(link);
      require_links("SimGrid platform (a FATPIPE link is one for each pair of hosts)", count);
    }
    links_.resize(static_cast<std::size_t>(count));
  }

  // Not those that only lead from a host to itself, such as most FATPIPE links.
  void note_taken_links() {
    const auto note = [&](const std::vector<Hop>& hops) {
      for (const Hop& hop : hops) platform_.links[hop.link].is_taken = true;
    };
    for (const Zone& zone : platform_.zones) {
      for (const auto* routes : {&zone.routes, &zone.bypasses}) {
        for (const auto& [between, route] : *routes) {
          if (between.first != between.second) note(route.hops);
        }
      }
      for (const auto* half : {&zone.up, &zone.down}) {
        for (const auto& [netpoint, hops] : *half) note(hops);
      }
    }
  }

  std::int64_t copies(const PlatformLink& link) const {
    const auto hosts = static_cast<std::int64_t>(platform_.hosts.size());
    if (link.sharing == Sharing::fatpipe) return link.is_taken ? hosts * hosts : 1;
    return link.sharing == Sharing::split_duplex ? 2 : 1;
  }

  Vertex hub(int zone) {
    Vertex& vertex = platform_.zones[zone].hub;
    if (vertex < 0) {
      vertex = static_cast<Vertex>(names_.size());
      names_.push_back(platform_.zones[zone].id);
    }
    return vertex;
  }

  Vertex vertex_of(int netpoint, int gateway) const {
    return platform_.netpoints[gateway >= 0 ? gateway : netpoint].vertex;
  }

  // SimGrid's links have no ends. Here they lead to the one or two netpoints at whose end of a
  // route they stand, and otherwise to the middle of their zone; nothing but names and drawings
  // depends on it.
  void find_ends() {
    std::vector<std::set<Vertex>> ends(platform_.links.size());
    for (const Zone& zone : platform_.zones) {
      for (const auto& [between, route] : zone.routes) {
        if (route.hops.empty()) continue;
        ends[route.hops.front().link].insert(vertex_of(between.first, route.gateway_from));
        ends[route.hops.back().link].insert(vertex_of(between.second, route.gateway_to));
      }
      for (const auto* half : {&zone.up, &zone.down}) {
        for (const auto& [netpoint, hops] : *half) {
          if (hops.empty()) continue;
          const Hop outer = half == &zone.up ? hops.front() : hops.back();
          ends[outer.link].insert(vertex_of(netpoint, -1));
        }
      }
    }
    for (std::size_t i = 0; i < ends.size(); ++i) place(platform_.links[i], ends[i]);
  }

  void place(const PlatformLink& link, const std::set<Vertex>& ends) {
    const bool is_pair = ends.size() == 2;
    const Vertex from = ends.size() == 1 || is_pair ? *ends.begin() : hub(link.zone);
    const Vertex to = is_pair ? *ends.rbegin() : hub(link.zone);
    for (std::int64_t i = 0; i < copies(link); ++i) {
      const bool is_down = link.sharing == Sharing::split_duplex && i == 1;
      links_[static_cast<std::size_t>(link.first + i)] = {is_down ? to : from, is_down ? from : to,
                                                          link.link_class, 1};
    }
  }

  Platform& platform_;
  std::vector<Link> links_;
  std::vector<std::string> names_;
};

Layout layout_of(const Platform& platform) {
  const auto hosts = static_cast<int>(platform.hosts.size());
  for (const Zone& zone : platform.zones) {
    if (zone.inner && zone.inner->topology.hosts() == hosts) return zone.inner->topology.layout();
  }
  return {Layout::Kind::flat, {hosts}, {}};
}

}  // namespace

Machine from_simgrid_xml(std::string_view text, const std::string& file) {
  const XmlElement root = parse_xml(text, file);
  if (root.name != "platform") root.refuse("a SimGrid platform starts with <platform>");
  Platform platform = read_simgrid_platform(root);
  PlatformNumbering numbering(platform);
  auto names = std::make_shared<const std::vector<std::string>>(numbering.names());
  std::vector<LinkClass> classes = numbering.classes();
  const auto hosts = static_cast<int>(platform.hosts.size());
  const Layout layout = layout_of(platform);
  Topology topology(machine_name(file), hosts, static_cast<int>(names->size()), layout,
                    std::move(classes), numbering.links(),
                    simgrid_routes(std::make_shared<const Platform>(std::move(platform))),
                    [names](Vertex v) { return (*names)[static_cast<std::size_t>(v)]; });
  // All pairs of few hosts; of many, those with the first.
  check_reachable(topology, hosts <= 64 ? hosts : 1, file);
  return {std::move(topology), Costs{}, fmt::format("{} hosts, from a SimGrid platform", hosts),
          fmt::format("SimGrid platform {}; its models' factors are not applied", file)};
}

}  // namespace collbench

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/suggest.h"
#include "topologies/import/simgrid_platform.h"

namespace collbench {
namespace {

constexpr std::size_t most_zone_hosts = 1 << 20;

Sharing sharing_of(const XmlElement& element, const std::string& fallback) {
  const std::string policy = element.text("sharing_policy", fallback);
  if (policy == "SHARED") return Sharing::shared;
  if (policy == "SPLITDUPLEX" || policy == "FULLDUPLEX") return Sharing::split_duplex;
  if (policy == "FATPIPE") return Sharing::fatpipe;
  element.refuse(
      fmt::format("sharing_policy=\"{}\" is not supported; known are SHARED, "
                  "SPLITDUPLEX, FATPIPE",
                  policy));
}

Routing routing_of(const XmlElement& zone) {
  const std::vector<std::string> names = {"Full",          "Floyd",   "Dijkstra",
                                          "DijkstraCache", "Cluster", "None"};
  const std::string& name = zone.need("routing");
  if (std::ranges::count(names, name) == 0) zone.refuse(unknown_name("routing", name, names));
  if (name == "Cluster") return Routing::star;
  return name == "Full" || name == "None" ? Routing::full : Routing::shortest;
}

// Reads the inside of one zone; zones within it first, since routes name what lies in them.
class ZoneReader {
 public:
  ZoneReader(Platform& platform, const XmlElement& element, int zone)
      : platform_(platform), zone_(zone) {
    for (const XmlElement& child : element.children) read_part(child);
    for (const XmlElement& child : element.children) read_connection(child);
    add_backbone();
  }

 private:
  Zone& zone() const { return platform_.zones[zone_]; }

  void read_part(const XmlElement& child) {
    if (child.name == "zone" || child.name == "AS") {
      const int inner = add_simgrid_zone(platform_, child, zone_, routing_of(child));
      ZoneReader(platform_, child, inner);
    } else if (child.name == "host") {
      join(platform_.add(Netpoint::Kind::host, child.need("id"), zone_, child));
    } else if (child.name == "router") {
      join(platform_.add(Netpoint::Kind::router, child.need("id"), zone_, child));
    } else if (child.name == "link" || child.name == "backbone") {
      read_link(child);
    } else if (child.name == "cluster") {
      read_simgrid_cluster(platform_, child, zone_);
    } else if (child.name == "cabinet") {
      if (zone().routing != Routing::star) child.refuse("stands in zones with routing=\"Cluster\"");
      read_simgrid_cabinet(platform_, child, zone_);
    } else if (child.name == "peer" || child.name == "include" || child.name == "bypassZoneRoute" ||
               child.name == "bypassASroute") {
      child.refuse("is not supported");
    }
  }

  // In a star, what has no links of its own stands in the middle.
  void join(int netpoint) const {
    if (zone().routing != Routing::star) return;
    zone().up[netpoint];
    zone().down[netpoint];
  }

  void read_link(const XmlElement& child) {
    const bool is_backbone = child.name == "backbone";
    const Sharing sharing = is_backbone ? Sharing::shared : sharing_of(child, "SHARED");
    const int link = platform_.add_link({child.need("id"), 0, sharing, zone_, 0},
                                        simgrid_bandwidth(child, "bandwidth"),
                                        simgrid_latency(child, "latency", "0"), child);
    if (is_backbone) backbone_ = link;
  }

  void read_connection(const XmlElement& child) {
    const bool joins_zones = child.name == "zoneRoute" || child.name == "ASroute";
    if (child.name == "route" || joins_zones) read_route(child, joins_zones, zone().routes);
    if (child.name == "bypassRoute") read_route(child, false, zone().bypasses);
    if (child.name == "host_link") read_host_link(child);
  }

  int netpoint(const XmlElement& route, std::string_view attribute) const {
    const std::string& name = route.need(attribute);
    const auto found = platform_.by_name.find(name);
    if (found == platform_.by_name.end()) {
      std::vector<std::string> names;
      for (const auto& [known, index] : platform_.by_name) names.push_back(known);
      if (names.size() > 1'000) names.clear();
      route.refuse(fmt::format("{}=\"{}\": no host, router or zone of this name{}", attribute, name,
                               did_you_mean(name, names)));
    }
    return found->second;
  }

  bool lies_within(int netpoint, int zone) const {
    for (int z = platform_.netpoints[netpoint].zone; z >= 0; z = platform_.zones[z].parent) {
      if (platform_.zones[z].netpoint == zone) return true;
    }
    return false;
  }

  int end(const XmlElement& route, std::string_view attribute, bool is_zone) const {
    const int found = netpoint(route, attribute);
    const Netpoint& point = platform_.netpoints[found];
    if (point.zone != zone_ || (point.kind == Netpoint::Kind::zone) != is_zone) {
      route.refuse(fmt::format("{}=\"{}\" is not a {} of zone {}", attribute, point.name,
                               is_zone ? "zone" : "host or router", zone().id));
    }
    return found;
  }

  int gateway(const XmlElement& route, std::string_view attribute, int of) const {
    const int found = netpoint(route, attribute);
    const Netpoint& point = platform_.netpoints[found];
    if (point.kind == Netpoint::Kind::zone || !lies_within(found, of)) {
      route.refuse(fmt::format("{}=\"{}\" is not a host or router within {}", attribute, point.name,
                               platform_.netpoints[of].name));
    }
    return found;
  }

  Hop hop(const XmlElement& part) const {
    std::string id = part.need("id");
    std::string direction = part.text("direction", "NONE");
    auto found = platform_.link_by_id.find(id);
    // The halves of a split-duplex link can be named by themselves.
    for (const std::string half : {"UP", "DOWN"}) {
      if (found != platform_.link_by_id.end() || !id.ends_with("_" + half)) continue;
      found = platform_.link_by_id.find(id.substr(0, id.size() - half.size() - 1));
      direction = half;
    }
    if (found == platform_.link_by_id.end()) part.refuse(fmt::format("no link '{}' above it", id));
    const bool is_split = platform_.links[found->second].sharing == Sharing::split_duplex;
    if (is_split && direction != "UP" && direction != "DOWN") {
      part.refuse(fmt::format("link '{}' is SPLITDUPLEX: direction must be UP or DOWN", id));
    }
    return {found->second, is_split && direction == "DOWN"};
  }

  // The hop of a way back: a split-duplex link turns, but not a half that is named by itself.
  Hop turned(Hop there, const XmlElement& part) const {
    const PlatformLink& link = platform_.links[there.link];
    const bool turns = link.sharing == Sharing::split_duplex && part.text("id") == link.id;
    return {there.link, there.down != turns};
  }

  void read_route(const XmlElement& route, bool joins_zones,
                  std::map<std::pair<int, int>, PlatformRoute>& routes) const {
    if (zone().routing == Routing::star) route.refuse("zones with routing=\"Cluster\" have none");
    const int from = end(route, "src", joins_zones);
    const int to = end(route, "dst", joins_zones);
    PlatformRoute made;
    if (joins_zones) {
      made.gateway_from = gateway(route, "gw_src", from);
      made.gateway_to = gateway(route, "gw_dst", to);
    }
    PlatformRoute back{{}, made.gateway_to, made.gateway_from};
    for (const XmlElement& part : route.children) {
      if (part.name != "link_ctn") continue;
      made.hops.push_back(hop(part));
      back.hops.push_back(turned(made.hops.back(), part));
    }
    std::ranges::reverse(back.hops);
    // A bypass has no such attribute and leads one way.
    const bool is_bypass = route.name == "bypassRoute";
    const std::string symmetrical = is_bypass ? "NO" : route.text("symmetrical", "YES");
    if (from != to && (symmetrical == "YES" || symmetrical == "yes")) {
      routes.try_emplace({to, from}, std::move(back));
    }
    routes.insert_or_assign({from, to}, std::move(made));
  }

  void read_host_link(const XmlElement& child) const {
    if (zone().routing != Routing::star) child.refuse("stands in zones with routing=\"Cluster\"");
    const int host = end(child, "id", false);
    const auto half = [&](std::string_view attribute) {
      XmlElement part = child;
      part.attributes = {{"id", child.need(attribute)}};
      return hop(part);
    };
    zone().up[host] = {half("up")};
    zone().down[host] = {half("down")};
  }

  void add_backbone() const {
    if (!backbone_) return;
    for (auto& [netpoint, hops] : zone().up) {
      if (!hops.empty()) hops.push_back({*backbone_, false});
    }
    for (auto& [netpoint, hops] : zone().down) {
      if (!hops.empty()) hops.insert(hops.begin(), {*backbone_, false});
    }
  }

  Platform& platform_;
  int zone_;
  std::optional<std::int32_t> backbone_;
};

}  // namespace

int Platform::add(Netpoint::Kind kind, const std::string& name, int zone,
                  const XmlElement& element) {
  const auto index = static_cast<int>(netpoints.size());
  if (!by_name.emplace(name, index).second) {
    element.refuse(fmt::format("the name '{}' is taken", name));
  }
  if (kind == Netpoint::Kind::host) hosts.push_back(index);
  if (hosts.size() > most_zone_hosts)
    element.refuse(fmt::format("more than {} hosts", most_zone_hosts));
  netpoints.push_back({kind, name, zone, 0});
  return index;
}

int Platform::add_link(PlatformLink link, double bytes_per_second, Seconds latency,
                       const XmlElement& element) {
  const auto [known, is_new] = class_of.try_emplace({bytes_per_second, latency.count()},
                                                    static_cast<std::int32_t>(classes.size()));
  if (is_new) classes.push_back(simgrid_class(bytes_per_second, latency));
  link.link_class = known->second;
  const auto index = static_cast<int>(links.size());
  if (!link_by_id.emplace(link.id, index).second) {
    element.refuse(fmt::format("a second link '{}'", link.id));
  }
  links.push_back(std::move(link));
  return index;
}

int add_simgrid_zone(Platform& platform, const XmlElement& element, int parent, Routing routing) {
  const auto index = static_cast<int>(platform.zones.size());
  Zone zone;
  zone.id = element.need("id");
  zone.parent = parent;
  zone.depth = parent < 0 ? 0 : platform.zones[parent].depth + 1;
  zone.routing = routing;
  zone.netpoint = platform.add(Netpoint::Kind::zone, zone.id, parent, element);
  platform.zones.push_back(std::move(zone));
  return index;
}

Platform read_simgrid_platform(const XmlElement& root) {
  Platform platform;
  for (const XmlElement& child : root.children) {
    const bool is_cluster = child.name == "cluster";
    if (!is_cluster && child.name != "zone" && child.name != "AS") continue;
    if (!platform.zones.empty()) child.refuse("a platform has one outermost zone");
    if (is_cluster) {
      read_simgrid_cluster(platform, child, -1);
    } else {
      ZoneReader(platform, child, add_simgrid_zone(platform, child, -1, routing_of(child)));
    }
  }
  if (platform.hosts.empty()) root.refuse("no host in it");
  return platform;
}

}  // namespace collbench

#include <limits>
#include <mutex>
#include <queue>

#include "topologies/import/simgrid_platform.h"

namespace collbench {
namespace {

constexpr int deepest_gateways = 64;  // gateways that lead to each other without end

struct PlatformWalk {
  Host sender;
  Host receiver;
  std::vector<LinkId>& out;
  int depth = 0;
};

// The given routes of a Floyd or Dijkstra zone as a graph, and the tree of the fewest links from
// each netpoint, made when first asked for. Ties: the netpoint that was read first.
struct ZonePaths {
  std::map<int, std::vector<std::pair<int, int>>> out;  // netpoint -> next, number of links
  std::map<int, std::map<int, int>> before;             // source -> netpoint -> the one before
  std::mutex mutex;

  explicit ZonePaths(const Zone& zone) {
    for (const auto& [ends, route] : zone.routes) {
      if (ends.first == ends.second) continue;
      out[ends.first].emplace_back(ends.second, static_cast<int>(route.hops.size()));
      out[ends.second];
    }
  }

  const std::map<int, int>& tree(int source) {
    const std::lock_guard lock(mutex);
    const auto [found, is_new] = before.try_emplace(source);
    if (is_new) search(source, found->second);
    return found->second;
  }

  void search(int source, std::map<int, int>& into) {
    std::map<int, int> length{{source, 0}};
    std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> next;
    next.emplace(0, source);
    while (!next.empty()) {
      const auto [far, at] = next.top();
      next.pop();
      if (far > length[at]) continue;
      for (const auto& [to, links] : out[at]) {
        const auto [known, is_new] = length.try_emplace(to, std::numeric_limits<int>::max());
        if (far + links >= known->second) continue;
        known->second = far + links;
        into[to] = at;
        next.emplace(far + links, to);
      }
    }
  }
};

class PlatformRoutes {
 public:
  explicit PlatformRoutes(std::shared_ptr<const Platform> platform)
      : platform_(std::move(platform)) {
    for (const Zone& zone : platform_->zones) {
      paths_.push_back(zone.routing == Routing::shortest ? std::make_shared<ZonePaths>(zone)
                                                         : nullptr);
    }
  }
  void route(Host from, Host to, std::vector<LinkId>& out) const {
    PlatformWalk walk{from, to, out};
    const auto netpoint = [&](Host host) { return platform_->hosts[host]; };
    if (!global_route(netpoint(from), netpoint(to), walk)) out.clear();
  }

 private:
  // The netpoint of `zone` that is `netpoint` or the zone around it.
  int member(int netpoint, int zone) const {
    while (platform_->netpoints[netpoint].zone != zone) {
      netpoint = platform_->zones[platform_->netpoints[netpoint].zone].netpoint;
    }
    return netpoint;
  }

  bool global_route(int from, int to, PlatformWalk& walk) const {
    if (from == to) return true;
    if (++walk.depth > deepest_gateways) return false;
    int a = platform_->netpoints[from].zone;
    int b = platform_->netpoints[to].zone;
    const auto& zones = platform_->zones;
    while (a != b) {
      int& deeper = zones[a].depth >= zones[b].depth ? a : b;
      deeper = zones[deeper].parent;
    }
    const bool found = local_route(zones[a], member(from, a), member(to, a), walk, from, to);
    --walk.depth;
    return found;
  }

  // From `from`, in or at netpoint `first` of the zone, to `to`, in or at its netpoint `last`.
  bool local_route(const Zone& zone, int first, int last, PlatformWalk& walk, int from,
                   int to) const {
    const auto bypass = zone.bypasses.find({first, last});
    if (bypass != zone.bypasses.end()) return follow(bypass->second, walk, from, to);
    switch (zone.routing) {
      case Routing::star:
        return star_route(zone, first, last, walk);
      case Routing::inner:
        return inner_route(zone, first, last, walk);
      case Routing::shortest:
        return shortest_route(zone, first, last, walk, from, to);
      case Routing::full:
        break;
    }
    const auto found = zone.routes.find({first, last});
    return found != zone.routes.end() && follow(found->second, walk, from, to);
  }

  void take(Hop hop, PlatformWalk& walk) const {
    const PlatformLink& link = platform_->links[hop.link];
    const auto hosts = static_cast<LinkId>(platform_->hosts.size());
    const bool is_fatpipe = link.sharing == Sharing::fatpipe;
    const LinkId offset = is_fatpipe ? walk.sender * hosts + walk.receiver : (hop.down ? 1 : 0);
    walk.out.push_back(link.first + offset);
  }

  bool follow(const PlatformRoute& route, PlatformWalk& walk, int from, int to) const {
    if (route.gateway_from >= 0 && !global_route(from, route.gateway_from, walk)) return false;
    for (const Hop& hop : route.hops) take(hop, walk);
    return route.gateway_to < 0 || global_route(route.gateway_to, to, walk);
  }

  // Up and down; what both have in the middle, a backbone, is passed once.
  bool star_route(const Zone& zone, int first, int last, PlatformWalk& walk) const {
    const auto up = zone.up.find(first);
    const auto down = zone.down.find(last);
    if (up == zone.up.end() || down == zone.down.end()) return false;
    for (const Hop& hop : up->second) take(hop, walk);
    for (const Hop& hop : down->second) {
      const bool is_shared_middle = !up->second.empty() && hop == up->second.back();
      if (!is_shared_middle) take(hop, walk);
    }
    return true;
  }

  bool inner_route(const Zone& zone, int first, int last, PlatformWalk& walk) const {
    const InnerNetwork& inner = *zone.inner;
    const Host from = first - inner.first_netpoint;
    const Host to = last - inner.first_netpoint;
    const auto is_host = [&](Host h) { return h >= 0 && h < inner.topology.hosts(); };
    if (!is_host(from) || !is_host(to)) return true;  // the router is everywhere, as in SimGrid
    std::vector<LinkId> links;
    inner.topology.route(from, to, links);
    for (const LinkId link : links) walk.out.push_back(inner.first_link + link);
    return true;
  }

  bool shortest_route(const Zone& zone, int first, int last, PlatformWalk& walk, int from,
                      int to) const {
    const auto index = static_cast<std::size_t>(&zone - platform_->zones.data());
    const std::map<int, int>& before = paths_[index]->tree(first);
    std::vector<int> stations{last};
    while (stations.back() != first) {
      const auto step = before.find(stations.back());
      if (step == before.end()) return false;
      stations.push_back(step->second);
    }
    for (std::size_t i = stations.size() - 1; i > 0; --i) {
      const PlatformRoute& route = zone.routes.at({stations[i], stations[i - 1]});
      // Between two routes through a zone, the way leads from the one gateway to the other.
      if (route.gateway_from >= 0 && !global_route(from, route.gateway_from, walk)) return false;
      for (const Hop& hop : route.hops) take(hop, walk);
      from = route.gateway_to >= 0 ? route.gateway_to : stations[i - 1];
    }
    return global_route(from, to, walk);
  }

  std::shared_ptr<const Platform> platform_;
  std::vector<std::shared_ptr<ZonePaths>> paths_;  // of each zone
};

}  // namespace

Topology::RouteFunction simgrid_routes(std::shared_ptr<const Platform> platform) {
  const auto routes = std::make_shared<const PlatformRoutes>(std::move(platform));
  return [routes](Host from, Host to, std::vector<LinkId>& out) { routes->route(from, to, out); };
}

}  // namespace collbench

// A SimGrid platform as it is written: netpoints in zones, links without ends, routes.
//
// A netpoint is a host, a router or a zone seen from the one around it. A route inside a zone joins
// two of its netpoints; where these are zones, it enters and leaves them at gateways, and the rest
// of the way is found inside them, as in SimGrid 3.32 (NetZoneImpl::get_global_route).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topologies/import/xml.h"
#include "topologies/topology.h"

namespace collbench {

enum class Sharing { shared, split_duplex, fatpipe };

struct PlatformLink {
  std::string id;
  std::int32_t link_class = 0;
  Sharing sharing = Sharing::shared;
  int zone = 0;
  // shared: one link; split_duplex: up and down; fatpipe, which caps every message by itself: one
  // for each pair of hosts, that from a to b being a * hosts + b
  LinkId first = 0;
  bool is_taken = false;  // by a route between two netpoints
};

/// One link of a route. Going down means the second half of a split-duplex link.
struct Hop {
  std::int32_t link = 0;
  bool down = false;
  bool operator==(const Hop&) const = default;
};

struct PlatformRoute {
  std::vector<Hop> hops;
  int gateway_from = -1;  // netpoints; -1 where the end is no zone
  int gateway_to = -1;
};

struct Netpoint {
  enum class Kind { host, router, zone };
  Kind kind = Kind::host;
  std::string name;
  int zone = -1;      // that it lies in
  Vertex vertex = 0;  // host and router
};

/// A cluster whose inside is one of our own networks; its hosts are consecutive netpoints.
struct InnerNetwork {
  Topology topology;
  int first_netpoint = 0;
  LinkId first_link = 0;
  Vertex first_switch = 0;
};

/// How a zone finds its routes: as given; the fewest links over given ones (Floyd, Dijkstra); up
/// from one netpoint and down to the other (Cluster); by the inner network.
enum class Routing { full, shortest, star, inner };

struct Zone {
  std::string id;
  int netpoint = -1;
  int parent = -1;
  int depth = 0;
  Routing routing = Routing::full;
  std::map<std::pair<int, int>, PlatformRoute> routes;
  std::map<std::pair<int, int>, PlatformRoute> bypasses;
  std::map<int, std::vector<Hop>> up;  // star: of each netpoint, towards the middle
  std::map<int, std::vector<Hop>> down;
  std::optional<InnerNetwork> inner;
  Vertex hub = -1;  // where links end that lead to no single netpoint
};

struct Platform {
  std::vector<Netpoint> netpoints;
  std::vector<Zone> zones;
  std::vector<PlatformLink> links;
  std::vector<LinkClass> classes;
  std::map<std::pair<double, double>, std::int32_t> class_of;  // by bytes per second and seconds
  std::vector<int> hosts;  // netpoints, in the order of the file
  std::map<std::string, int> by_name;
  std::map<std::string, int> link_by_id;

  /// Adds a netpoint. Refuses at `element` a name that is taken, or more than a million hosts.
  int add(Netpoint::Kind kind, const std::string& name, int zone, const XmlElement& element);
  int add_link(PlatformLink link, double bytes_per_second, Seconds latency,
               const XmlElement& element);
};

/// "125MBps", "1Gbps", "10GiBps", plain bytes per second. Above zero.
double simgrid_bandwidth(const XmlElement& element, std::string_view attribute);
/// "50us", "1ms", plain seconds. Not negative; `fallback` if absent.
Seconds simgrid_latency(const XmlElement& element, std::string_view attribute,
                        const std::string& fallback);

/// The class of links as a file gives them, named after both numbers.
LinkClass simgrid_class(double bytes_per_second, Seconds latency);

/// Reads <platform>. Throws InvalidArgument with the line of what it refuses.
Platform read_simgrid_platform(const XmlElement& root);
/// <cluster> as a zone below `parent`, and <cabinet>, whose hosts join the star zone `zone`.
void read_simgrid_cluster(Platform& platform, const XmlElement& element, int parent);
void read_simgrid_cabinet(Platform& platform, const XmlElement& element, int zone);
/// A zone and its netpoint, below `parent` (-1: the root).
int add_simgrid_zone(Platform& platform, const XmlElement& element, int parent, Routing routing);

/// The links from one host to another; none where no route leads there. Thread safety: any number
/// of threads.
Topology::RouteFunction simgrid_routes(std::shared_ptr<const Platform> platform);

}  // namespace collbench

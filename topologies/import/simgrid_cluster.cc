#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "topologies/import/simgrid_platform.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

constexpr int most_cluster_hosts = 1 << 20;

int whole(const XmlElement& element, std::string_view attribute, const std::string& text,
          int least) {
  const auto value = small_integer_in(text, least, most_cluster_hosts - 1);
  if (value) return *value;
  element.refuse(fmt::format("'{}' in {} must be a whole number from {} to {}", text, attribute,
                             least, most_cluster_hosts - 1));
}

std::vector<int> whole_list(const XmlElement& element, const std::string& text) {
  std::vector<int> values;
  for (const std::string& word : split_at(text, ',')) {
    values.push_back(whole(element, "topo_parameters", word, 1));
  }
  return values;
}

// "0-3,7": the numbers in the names of hosts.
std::vector<int> radical(const XmlElement& element) {
  const std::string& text = element.need("radical");
  try {
    return parse_ranges("radical", text, most_cluster_hosts - 1);
  } catch (const InvalidArgument& e) {
    element.refuse(e.what());
  }
}

LinkClass cluster_class(const XmlElement& cluster) {
  return simgrid_class(simgrid_bandwidth(cluster, "bw"), simgrid_latency(cluster, "lat", "0"));
}

std::vector<int> sizes(const XmlElement& cluster, const std::string& part, std::size_t count) {
  const std::vector<int> values = whole_list(cluster, part);
  if (values.size() != count) {
    cluster.refuse(fmt::format("topo_parameters: '{}' must have {} numbers", part, count));
  }
  return values;
}

Topology fat_tree_of(const XmlElement& cluster, const std::vector<std::string>& parts) {
  if (parts.size() != 4) cluster.refuse("topo_parameters must be LEVELS;DOWN,..;UP,..;CABLES,..");
  const int levels = whole(cluster, "topo_parameters", parts[0], 1);
  const auto of_levels = [&](std::size_t i) {
    return sizes(cluster, parts[i], static_cast<std::size_t>(levels));
  };
  return fat_tree(of_levels(1), of_levels(2), of_levels(3), {cluster_class(cluster)});
}

Topology dragonfly_of(const XmlElement& cluster, const std::vector<std::string>& parts) {
  if (parts.size() != 4) {
    cluster.refuse("topo_parameters must be GROUPS,BLUE;CHASSIS,BLACK;ROUTERS,GREEN;HOSTS");
  }
  const LinkClass link = cluster_class(cluster);
  const std::vector<int> groups = sizes(cluster, parts[0], 2);
  const std::vector<int> chassis = sizes(cluster, parts[1], 2);
  const std::vector<int> routers = sizes(cluster, parts[2], 2);
  const int hosts = whole(cluster, "topo_parameters", parts[3], 1);
  return dragonfly(groups[0], chassis[0], routers[0], hosts, {groups[1], link}, {chassis[1], link},
                   {routers[1], link}, link);
}

Topology torus_of(const XmlElement& cluster, const std::string& parameters) {
  const std::vector<int> dims = whole_list(cluster, parameters);
  return torus(dims, std::vector<bool>(dims.size(), true), {cluster_class(cluster)});
}

// The host count of the parameters is bounded before a network of that size is made.
void check_product(const XmlElement& cluster, const std::vector<int>& hosts_numbers) {
  double product = 1;
  for (const std::string& part : split_at(cluster.text("topo_parameters"), ';')) {
    for (const std::string& word : split_at(part, ',')) {
      product *= std::max(number_in(word).value_or(1), 1.0);
    }
  }
  const double most = 4096.0 * static_cast<double>(hosts_numbers.size());
  if (product > std::max(most, 1e6)) {
    cluster.refuse("topo_parameters describe a network far larger than the radical");
  }
}

Topology inner_network(const XmlElement& cluster, const std::string& kind) {
  const std::string& parameters = cluster.need("topo_parameters");
  try {
    if (kind == "TORUS") return torus_of(cluster, parameters);
    if (kind == "FAT_TREE") return fat_tree_of(cluster, split_at(parameters, ';'));
    if (kind == "DRAGONFLY") return dragonfly_of(cluster, split_at(parameters, ';'));
  } catch (const InvalidArgument& e) {
    if (std::string(e.what()).starts_with(*cluster.file)) throw;
    cluster.refuse(e.what());
  }
  cluster.refuse(
      fmt::format("topology=\"{}\" is unknown; known are FLAT, TORUS, FAT_TREE, "
                  "DRAGONFLY",
                  kind));
}

void read_flat(Platform& platform, const XmlElement& cluster, int zone,
               const std::vector<int>& hosts, const std::vector<int>& numbers) {
  const std::string id = cluster.need("id");
  const std::string policy = cluster.text("sharing_policy", "SPLITDUPLEX");
  const bool is_split = policy == "SPLITDUPLEX" || policy == "FULLDUPLEX";
  if (policy == "FATPIPE") cluster.refuse("sharing_policy FATPIPE is not supported in clusters");
  const auto add = [&](const std::string& name, Sharing sharing, double rate, Seconds latency) {
    return platform.add_link({name, 0, sharing, zone, 0}, rate, latency, cluster);
  };
  std::vector<Hop> middle;
  if (!cluster.text("bb_bw").empty()) {
    const bool is_fat = cluster.text("bb_sharing_policy") == "FATPIPE";
    middle = {{add(id + "_backbone", is_fat ? Sharing::fatpipe : Sharing::shared,
                   simgrid_bandwidth(cluster, "bb_bw"), simgrid_latency(cluster, "bb_lat", "0")),
               false}};
  }
  const double rate = simgrid_bandwidth(cluster, "bw");
  const Seconds latency = simgrid_latency(cluster, "lat", "0");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string name = fmt::format("{}_link_{}", id, numbers[i]);
    std::vector<Hop>& up = platform.zones[zone].up[hosts[i]];
    std::vector<Hop>& down = platform.zones[zone].down[hosts[i]];
    if (!cluster.text("limiter_link").empty()) {
      up = down = {{add(name + "_limiter", Sharing::shared,
                        simgrid_bandwidth(cluster, "limiter_link"), Seconds{0}),
                    false}};
    }
    const int link = add(name, is_split ? Sharing::split_duplex : Sharing::shared, rate, latency);
    up.push_back({link, false});
    up.insert(up.end(), middle.begin(), middle.end());
    down.insert(down.begin(), {link, is_split});
    down.insert(down.begin(), middle.begin(), middle.end());
  }
}

void read_inner(Platform& platform, const XmlElement& cluster, const std::string& kind, int zone,
                const std::vector<int>& hosts) {
  const std::string policy = cluster.text("sharing_policy", "SPLITDUPLEX");
  if (policy != "SPLITDUPLEX" && policy != "FULLDUPLEX") {
    cluster.refuse(fmt::format("sharing_policy {} is supported in FLAT clusters only", policy));
  }
  if (!cluster.text("limiter_link").empty()) {
    cluster.refuse("limiter_link is supported in FLAT clusters only");
  }
  check_product(cluster, hosts);
  Topology network = inner_network(cluster, kind);
  if (network.hosts() != static_cast<int>(hosts.size())) {
    cluster.refuse(
        fmt::format("topo_parameters make {} hosts, radical {}", network.hosts(), hosts.size()));
  }
  platform.zones[zone].inner = InnerNetwork{std::move(network), hosts.front(), 0, 0};
}

}  // namespace

void read_simgrid_cluster(Platform& platform, const XmlElement& element, int parent) {
  const std::string kind = element.text("topology", "FLAT");
  const Routing routing = kind == "FLAT" ? Routing::star : Routing::inner;
  const std::string prefix = element.text("prefix");
  const std::string suffix = element.text("suffix");
  const std::vector<int> numbers = radical(element);
  const int zone = add_simgrid_zone(platform, element, parent, routing);
  std::vector<int> hosts;
  for (const int number : numbers) {
    hosts.push_back(platform.add(Netpoint::Kind::host,
                                 fmt::format("{}{}{}", prefix, number, suffix), zone, element));
  }
  if (routing == Routing::star) {
    read_flat(platform, element, zone, hosts, numbers);
  } else {
    read_inner(platform, element, kind, zone, hosts);
  }
  std::string router = element.text("router_id");
  if (router.empty()) router = fmt::format("{}{}_router{}", prefix, element.need("id"), suffix);
  const int middle = platform.add(Netpoint::Kind::router, router, zone, element);
  platform.zones[zone].up[middle];
  platform.zones[zone].down[middle];
}

void read_simgrid_cabinet(Platform& platform, const XmlElement& element, int zone) {
  const double rate = simgrid_bandwidth(element, "bw");
  const Seconds latency = simgrid_latency(element, "lat", "0");
  for (const int number : radical(element)) {
    const std::string name =
        fmt::format("{}{}{}", element.text("prefix"), number, element.text("suffix"));
    const int host = platform.add(Netpoint::Kind::host, name, zone, element);
    const auto link = [&](const char* half) {
      return platform.add_link({"link_" + name + half, 0, Sharing::shared, zone, 0}, rate, latency,
                               element);
    };
    platform.zones[zone].up[host] = {{link("_UP"), false}};
    platform.zones[zone].down[host] = {{link("_DOWN"), false}};
  }
}

}  // namespace collbench

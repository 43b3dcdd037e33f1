#include "topologies/topology.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

void check_layout(const std::string& name, int hosts, const Layout& layout) {
  std::int64_t product = 1;
  for (const int d : layout.dims) {
    require(d >= 1, fmt::format("topology {}: axis lengths must be at least 1, not {}", name, d));
    product *= d;
  }
  require(product == hosts, fmt::format("topology {}: the axes {} multiply to {}, not to its {} "
                                        "hosts",
                                        name, fmt::join(layout.dims, "x"), product, hosts));
  const std::size_t wraps = layout.kind == Layout::Kind::grid ? layout.dims.size() : 0;
  require(layout.wraps.size() == wraps,
          fmt::format("topology {}: {} axes need as many wraps, not {}", name, wraps,
                      layout.wraps.size()));
}

void check_class(const std::string& name, const LinkClass& link_class) {
  const auto& [class_name, nominal, efficiency, latency, level, source] = link_class;
  require(nominal.bytes_per_second > 0,
          fmt::format("topology {}: link '{}' needs a bandwidth above 0", name, class_name));
  require(efficiency > 0 && efficiency <= 1,
          fmt::format("topology {}: efficiency of link '{}' must be in (0, 1], not {}", name,
                      class_name, efficiency));
  require(latency.count() >= 0,
          fmt::format("topology {}: latency of link '{}' must not be negative", name, class_name));
}

/// Widest first. Throws InvalidArgument as Topology::with_ways() says.
void check_ways(const Topology& topology, std::pair<Host, Host> pair, std::vector<Way>& ways) {
  const auto fail = [&](const std::string& what) {
    throw InvalidArgument(fmt::format("topology {}: ways from host {} to {}: {}", topology.name(),
                                      pair.first, pair.second, what));
  };
  double all = 0;
  for (const Way& way : ways) {
    Vertex at = pair.first;
    for (const LinkId link : way.links) {
      const bool exists = link >= 0 && link < std::ssize(topology.links());
      if (!exists || topology.links()[link].from != at) fail("one is not a path");
      at = topology.links()[link].to;
    }
    if (at != pair.second || way.links.empty()) fail("one does not lead there");
    if (!(way.share > 0)) fail(fmt::format("shares must be above 0, not {}", way.share));
    all += way.share;
  }
  if (!(std::abs(all - 1) < 1e-6)) fail(fmt::format("shares add up to {}, not to 1", all));
  std::stable_sort(ways.begin(), ways.end(),
                   [](const Way& a, const Way& b) { return a.share > b.share; });
}

/// The decimal number that was stored as a float: 0.1, not 0.100000001. Bounds are exact fractions.
double as_written(float number) {
  if (number == std::trunc(number)) return static_cast<double>(number);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.begin(), text.end(), number).ptr;
  double written = 0;
  std::from_chars(text.begin(), end, written);
  return written;
}

}  // namespace

int seats_of_node(const Layout& layout) {
  if (layout.kind != Layout::Kind::hierarchy || layout.dims.size() < 2) return 0;
  return std::accumulate(layout.dims.begin(), layout.dims.end() - 1, 1, std::multiplies<>());
}

Topology::Topology(std::string name, int hosts, int vertices, Layout layout,
                   std::vector<LinkClass> classes, std::vector<Link> links, RouteFunction route,
                   NameFunction vertex_name) {
  require(hosts >= 1, fmt::format("topology {}: needs at least 1 host, not {}", name, hosts));
  require(vertices >= hosts,
          fmt::format("topology {}: {} vertices cannot hold {} hosts", name, vertices, hosts));
  check_layout(name, hosts, layout);
  for (const LinkClass& link_class : classes) check_class(name, link_class);
  std::vector<double> capacity;
  capacity.reserve(links.size());
  for (const Link& link : links) {
    const auto valid = [&](Vertex v) { return v >= 0 && v < vertices; };
    require(valid(link.from) && valid(link.to) && link.link_class >= 0 &&
                link.link_class < static_cast<std::int32_t>(classes.size()) && link.lanes > 0,
            fmt::format("topology {}: link {} -> {} names a vertex or class that does not exist, "
                        "or no lanes",
                        name, link.from, link.to));
    const LinkClass& c = classes[static_cast<std::size_t>(link.link_class)];
    capacity.push_back(c.nominal.bytes_per_second * c.efficiency * as_written(link.lanes));
  }
  data_ = std::make_shared<const Data>(Data{std::move(name), hosts, vertices, std::move(layout),
                                            std::move(classes), std::move(links), std::move(route),
                                            std::move(vertex_name), std::move(capacity)});
}

const LinkClass& Topology::link_class(LinkId link) const {
  return data_
      ->classes[static_cast<std::size_t>(data_->links[static_cast<std::size_t>(link)].link_class)];
}

void Topology::route(Host from, Host to, std::vector<LinkId>& out) const {
  assert(from >= 0 && from < hosts() && to >= 0 && to < hosts());
  out.clear();
  if (from == to) return;
  if (const std::vector<Way>* spread = ways(from, to)) {
    out = spread->front().links;
    return;
  }
  data_->route(from, to, out);
  if (!out.empty()) return;
  throw InvalidArgument(fmt::format("topology {}: no path leads from {} to {}", name(),
                                    this->vertex_name(from), this->vertex_name(to)));
}

std::string Topology::vertex_name(Vertex vertex) const {
  if (data_->vertex_name) return data_->vertex_name(vertex);
  if (vertex < hosts()) return fmt::format("host {}", vertex);
  return fmt::format("switch {}", vertex - hosts());
}

std::string Topology::link_name(LinkId link) const {
  const Link& ends = data_->links[static_cast<std::size_t>(link)];
  return fmt::format("{} -> {} ({})", vertex_name(ends.from), vertex_name(ends.to),
                     link_class(link).name);
}

Topology Topology::named(std::string name) const {
  Data data = *data_;
  data.name = std::move(name);
  return Topology(std::make_shared<const Data>(std::move(data)));
}

Topology Topology::slowed(std::span<const Host> hosts, std::span<const double> factor) const {
  require(hosts.size() == factor.size(), "slowed: one factor per host is needed");
  Data data = *data_;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    require(hosts[i] >= 0 && hosts[i] < data.hosts,
            fmt::format("slow host {} does not exist; {} has hosts 0 to {}", hosts[i], data.name,
                        data.hosts - 1));
    require(factor[i] > 0,
            fmt::format("slow host {}: the factor must be above 0, not {}", hosts[i], factor[i]));
    for (std::size_t l = 0; l < data.links.size(); ++l) {
      const bool touches = data.links[l].from == hosts[i] || data.links[l].to == hosts[i];
      if (touches) data.capacity[l] *= factor[i];
    }
  }
  return Topology(std::make_shared<const Data>(std::move(data)));
}

Topology Topology::with_latency(Seconds latency) const {
  require(latency.count() >= 0,
          fmt::format("the latency of a link must not be negative, as {} is", to_string(latency)));
  Data data = *data_;
  for (LinkClass& link_class : data.classes) link_class.latency = latency;
  return Topology(std::make_shared<const Data>(std::move(data)));
}

Topology Topology::with_free_routes(bool are_free) const {
  Data data = *data_;
  data.routes_are_free = are_free;
  return Topology(std::make_shared<const Data>(std::move(data)));
}

Topology Topology::with_ways(Ways ways) const {
  for (auto& [pair, spread] : ways) check_ways(*this, pair, spread);
  Data data = *data_;
  data.ways = std::move(ways);
  return Topology(std::make_shared<const Data>(std::move(data)));
}

const std::vector<Way>* Topology::ways(Host from, Host to) const {
  if (data_->ways.empty()) return nullptr;
  const auto found = data_->ways.find({from, to});
  return found == data_->ways.end() ? nullptr : &found->second;
}

std::vector<std::pair<LinkId, double>> link_shares(std::span<const Way> ways) {
  std::map<LinkId, double> shares;
  for (const Way& way : ways) {
    for (const LinkId link : way.links) shares[link] += way.share;
  }
  return {shares.begin(), shares.end()};
}

RouteSummary summarize(const Topology& topology, std::span<const LinkId> route) {
  RouteSummary summary;
  for (const LinkId link : route) {
    const LinkClass& link_class = topology.link_class(link);
    summary.latency += link_class.latency;
    summary.level = std::max(summary.level, link_class.level);
  }
  return summary;
}

RouteSummary summarize(const Topology& topology, std::span<const Way> ways) {
  RouteSummary most;
  for (const Way& way : ways) {
    const RouteSummary summary = summarize(topology, way.links);
    most.latency = std::max(most.latency, summary.latency);
    most.level = std::max(most.level, summary.level);
  }
  return most;
}

void check_reachable(const Topology& topology, int sources, const std::string& where) {
  std::vector<LinkId> route;
  for (Host a = 0; a < sources; ++a) {
    for (Host b = 0; b < topology.hosts(); ++b) {
      try {
        topology.route(a, b, route);
        topology.route(b, a, route);
      } catch (const InvalidArgument& e) {
        throw InvalidArgument(fmt::format("{}: {}", where, e.what()));
      }
    }
  }
}

}  // namespace collbench

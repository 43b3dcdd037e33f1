#include <fmt/format.h>

#include "core/error.h"
#include "topologies/draw/draw.h"
#include "topologies/xml_text.h"

namespace collbench {
namespace {

constexpr int most_hosts = 512;

}  // namespace

std::string to_simgrid_xml(const Topology& topology) {
  const int hosts = topology.hosts();
  require(hosts <= most_hosts,
          fmt::format("topology {}: {} hosts are too many for a route per pair (at most {})",
                      topology.name(), hosts, most_hosts));
  std::string xml = fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<!-- {0}: bandwidths are reached ones, so use network/model CM02 without factors -->\n"
      "<platform version=\"4.1\">\n  <zone id=\"{0}\" routing=\"Full\">\n",
      // Two hyphens would end the comment.
      [name = escaped_for_xml(topology.name())]() mutable {
        for (std::size_t i; (i = name.find("--")) != std::string::npos;) name.erase(i, 1);
        return name;
      }());
  for (Host h = 0; h < hosts; ++h) {
    xml += fmt::format("    <host id=\"{}\" speed=\"1Gf\"/>\n",
                       escaped_for_xml(topology.vertex_name(h)));
  }
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const auto link = static_cast<LinkId>(i);
    xml += fmt::format("    <link id=\"l{}\" bandwidth=\"{}Bps\" latency=\"{}s\"/>\n", i,
                       topology.capacity(link), topology.link_class(link).latency.count());
  }
  std::vector<LinkId> route;
  for (Host a = 0; a < hosts; ++a) {
    for (Host b = 0; b < hosts; ++b) {
      if (a == b) continue;
      topology.route(a, b, route);
      xml += fmt::format("    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">",
                         escaped_for_xml(topology.vertex_name(a)),
                         escaped_for_xml(topology.vertex_name(b)));
      for (const LinkId link : route) xml += fmt::format("<link_ctn id=\"l{}\"/>", link);
      xml += "</route>\n";
    }
  }
  return xml + "  </zone>\n</platform>\n";
}

}  // namespace collbench

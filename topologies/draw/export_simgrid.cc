#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "core/error.h"
#include "topologies/draw/draw.h"
#include "topologies/draw/xml_elements.h"

namespace collbench {
namespace {

constexpr int most_exported_hosts = 512;

}  // namespace

std::string to_simgrid_xml(const Machine& machine) {
  const Topology& topology = machine.topology;
  const int hosts = topology.hosts();
  require(hosts <= most_exported_hosts,
          fmt::format("topology {}: {} hosts are too many for a route per pair (at most {})",
                      topology.name(), hosts, most_exported_hosts));
  pugi::xml_document document;
  document.append_child(pugi::node_declaration).append_attribute("version") = "1.0";
  document.append_child(pugi::node_doctype)
      .set_value("platform SYSTEM \"https://simgrid.org/simgrid.dtd\"");
  const std::vector<std::string> lost = names_of_costs(machine.costs);
  const std::string remark = fmt::format(
      " {}: bandwidths are reached ones, so use network/model CM02 without factors{} ",
      topology.name(),
      lost.empty()
          ? ""
          : fmt::format("; costs of the machine that are not in here: {}", fmt::join(lost, ", ")));
  document.append_child(pugi::node_comment).set_value(remark.c_str());
  pugi::xml_node platform = add_element(document, "platform", {{"version", "4.1"}});
  pugi::xml_node zone =
      add_element(platform, "zone", {{"id", topology.name()}, {"routing", "Full"}});
  for (Host h = 0; h < hosts; ++h) {
    add_element(zone, "host", {{"id", topology.vertex_name(h)}, {"speed", "1Gf"}});
  }
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const auto link = static_cast<LinkId>(i);
    add_element(zone, "link",
                {{"id", fmt::format("l{}", i)},
                 {"bandwidth", fmt::format("{}Bps", topology.capacity(link))},
                 {"latency", fmt::format("{}s", topology.link_class(link).latency.count())}});
  }
  std::vector<LinkId> route;
  for (Host a = 0; a < hosts; ++a) {
    for (Host b = 0; b < hosts; ++b) {
      if (a == b) continue;
      topology.route(a, b, route);
      pugi::xml_node pair = add_element(zone, "route",
                                        {{"src", topology.vertex_name(a)},
                                         {"dst", topology.vertex_name(b)},
                                         {"symmetrical", "NO"}});
      for (const LinkId link : route)
        add_element(pair, "link_ctn", {{"id", fmt::format("l{}", link)}});
    }
  }
  return printed(document, true);
}

}  // namespace collbench

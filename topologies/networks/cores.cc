#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {

Topology chips_with_cores(const Topology& chips, int cores, const LinkClass& core) {
  require(cores >= 1, fmt::format("a chip has at least 1 core, not {}", cores));
  require_links(chips.name(), 2 * static_cast<std::int64_t>(cores) * chips.hosts() +
                                  static_cast<std::int64_t>(chips.links().size()));
  const int hosts = chips.hosts() * cores;
  std::vector<LinkClass> classes(chips.classes().begin(), chips.classes().end());
  const auto core_class = static_cast<std::int32_t>(classes.size());
  classes.push_back(core);
  classes.back().latency = core.latency / 2;
  // Vertices of `chips` follow the cores; its links keep their numbers.
  std::vector<Link> links;
  for (const Link& link : chips.links()) {
    links.push_back({hosts + link.from, hosts + link.to, link.link_class, link.lanes});
  }
  const auto first = static_cast<LinkId>(links.size());
  for (Host h = 0; h < hosts; ++h) {
    links.push_back({h, hosts + h / cores, core_class, 1});
    links.push_back({hosts + h / cores, h, core_class, 1});
  }
  Layout layout = chips.layout();
  if (layout.kind == Layout::Kind::flat) layout.kind = Layout::Kind::hierarchy;
  if (layout.kind == Layout::Kind::grid) layout.wraps.insert(layout.wraps.begin(), false);
  layout.dims.insert(layout.dims.begin(), cores);
  layout.cores = cores;
  return Topology(
      fmt::format("{} of {} cores", chips.name(), cores), hosts, hosts + chips.vertices(),
      std::move(layout), std::move(classes), std::move(links),
      [chips, cores, first](Host from, Host to, std::vector<LinkId>& out) {
        chips.route(from / cores, to / cores, out);
        out.insert(out.begin(), first + 2 * from);
        out.push_back(first + 2 * to + 1);
      },
      [hosts, chips, cores](Vertex v) {
        if (v >= hosts)
          return v - hosts < chips.hosts() ? fmt::format("chip {}", v - hosts)
                                           : chips.vertex_name(v - hosts);
        return fmt::format("chip {} core {}", v / cores, v % cores);
      });
}

}  // namespace collbench

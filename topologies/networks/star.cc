#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {

void require_links(const std::string& name, std::int64_t links) {
  require(links <= most_links,
          fmt::format("{}: {} links are too many; at most {}", name, links, most_links));
}

Topology star(int hosts, const LinkClass& link) {
  require(hosts >= 1, fmt::format("star: needs at least 1 host, not {}", hosts));
  require_links(fmt::format("star:{}", hosts), 2 * static_cast<std::int64_t>(hosts));
  LinkClass half = link;
  half.latency = link.latency / 2;
  const Vertex hub = hosts;
  std::vector<Link> links;
  links.reserve(2 * static_cast<std::size_t>(hosts));
  for (Host h = 0; h < hosts; ++h) {
    links.push_back({.from = h, .to = hub});
    links.push_back({.from = hub, .to = h});
  }
  return Topology(
      fmt::format("star:{}", hosts), hosts, hosts + 1, Layout{.dims = {hosts}, .wraps = {}}, {half},
      std::move(links),
      [](Host from, Host to, std::vector<LinkId>& out) {
        out.push_back(2 * from);
        out.push_back(2 * to + 1);
      },
      [hosts](Vertex v) { return v < hosts ? fmt::format("host {}", v) : std::string("switch"); });
}

Topology fully_connected(int hosts, const LinkClass& link) {
  require(hosts >= 1, fmt::format("full: needs at least 1 host, not {}", hosts));
  require_links(fmt::format("full:{}", hosts),
                static_cast<std::int64_t>(hosts) * static_cast<std::int64_t>(hosts - 1));
  std::vector<Link> links;
  links.reserve(static_cast<std::size_t>(hosts) * static_cast<std::size_t>(hosts - 1));
  for (Host a = 0; a < hosts; ++a) {
    for (Host b = 0; b < hosts; ++b) {
      if (a != b) links.push_back({.from = a, .to = b});
    }
  }
  return Topology(fmt::format("full:{}", hosts), hosts, hosts, Layout{.dims = {hosts}, .wraps = {}},
                  {link}, std::move(links), [hosts](Host from, Host to, std::vector<LinkId>& out) {
                    // Row `from` has an entry for every other host, in order.
                    out.push_back(from * (hosts - 1) + (to < from ? to : to - 1));
                  });
}

}  // namespace collbench

// What every importer of topologies must keep on any bytes: it refuses with InvalidArgument, or
// gives a machine whose routes connect, whose numbers are sane, and which can be drawn.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "topologies/draw/draw.h"
#include "topologies/import/import_topology.h"

namespace collbench {

inline void check_routes(const Topology& topology) {
  const int hosts = topology.hosts() < 6 ? topology.hosts() : 6;
  std::vector<LinkId> route;
  for (Host a = 0; a < hosts; ++a) {
    for (Host b = 0; b < hosts; ++b) {
      topology.route(a, b, route);
      for (const LinkId link : route) {
        if (link < 0 || link >= static_cast<LinkId>(topology.links().size())) std::abort();
        if (!(topology.capacity(link) > 0) || !std::isfinite(topology.capacity(link))) std::abort();
      }
    }
  }
}

template <class Importer>
int check_import(const Importer& importer, const std::uint8_t* data, std::size_t size) {
  try {
    const Machine machine = importer({reinterpret_cast<const char*>(data), size}, "fuzzed");
    if (machine.topology.links().size() > 20'000) return 0;
    try {
      check_routes(machine.topology);
    } catch (const InvalidArgument&) {
      // Importers look at the routes of a few sources only, when there are many hosts.
      if (machine.topology.hosts() <= 64) std::abort();
    }
    if (to_grouped_dot(machine.topology).empty()) std::abort();
  } catch (const InvalidArgument&) {
    return 0;
  }
  return 0;
}

}  // namespace collbench

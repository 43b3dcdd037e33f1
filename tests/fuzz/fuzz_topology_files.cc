// Topology files of other tools, any bytes: they are refused with InvalidArgument, or give a
// machine whose routes connect, whose numbers are sane, and which can be drawn.
#include <cmath>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "topologies/draw/draw.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

void check_routes(const Topology& topology) {
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
void check_import(const Importer& importer, std::string_view input) {
  try {
    const Machine machine = importer(input, "fuzzed");
    if (machine.topology.links().size() > 20'000) return;
    try {
      check_routes(machine.topology);
    } catch (const InvalidArgument&) {
      // Importers look at the routes of a few sources only, when there are many hosts.
      if (machine.topology.hosts() <= 64) std::abort();
    }
    if (to_grouped_dot(machine.topology).empty()) std::abort();
  } catch (const InvalidArgument&) {
  }
}

}  // namespace
}  // namespace collbench

FUZZ_TARGET(astra_yaml, input) { collbench::check_import(collbench::from_astra_yaml, input); }
FUZZ_TARGET(edge_list, input) { collbench::check_import(collbench::from_edge_list, input); }
FUZZ_TARGET(hwloc_xml, input) { collbench::check_import(collbench::from_hwloc_xml, input); }
FUZZ_TARGET(nccl_xml, input) { collbench::check_import(collbench::from_nccl_xml, input); }
FUZZ_TARGET(nvidia_smi, input) { collbench::check_import(collbench::from_nvidia_smi, input); }
FUZZ_TARGET(simgrid_xml, input) { collbench::check_import(collbench::from_simgrid_xml, input); }

// What the links of a machine can carry at most, and tables that are beyond it.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "heuristics/diagnosis/diagnosis.h"

namespace collbench {

Bandwidth bus_bandwidth(Bytes bytes, Seconds time, int ranks) {
  return {2.0 * (ranks - 1) / ranks * static_cast<double>(bytes.count) / time.count()};
}

Bandwidth most_bus_bandwidth(const Machine& machine, int ranks) {
  const Topology& topology = machine.topology;
  if (machine.costs.in_network || ranks > topology.hosts()) return {};
  std::vector<double> out_of_host(static_cast<std::size_t>(topology.hosts()));
  for (LinkId i = 0; i < std::ssize(topology.links()); ++i) {
    const Link& link = topology.links()[static_cast<std::size_t>(i)];
    if (link.from >= topology.hosts()) continue;
    out_of_host[static_cast<std::size_t>(link.from)] +=
        static_cast<double>(link.lanes) * topology.link_class(i).nominal.bytes_per_second;
  }
  return {*std::max_element(out_of_host.begin(), out_of_host.end())};
}

void doubt_beyond_links(Diagnosis& found, Bandwidth most) {
  constexpr double rounding = 1.02;
  if (found.busbw.bytes_per_second <= rounding * most.bytes_per_second) return;
  found.healthy = true;
  found.causes.clear();
  found.cause_group.clear();
  found.undecided.clear();
  found.untold = fmt::format(
      "{:.3g} GB/s on the bus is more than the links of {} carry, {:.3g} GB/s of a host: it is "
      "another machine, or the table counts other ranks, nodes or bytes",
      found.busbw.bytes_per_second / 1e9, found.machine, most.bytes_per_second / 1e9);
}

}  // namespace collbench

#include "bench/simulated/files.h"

#include <ostream>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

void write_link_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome) {
  require(!outcome.links.empty(),
          fmt::format("engine {} does not know what links carry; use fluid, quotient or simgrid",
                      to_string(outcome.engine)));
  const Topology& topology = scenario.machine.topology;
  out << "link,from,to,class,capacity_GBps,bytes,busy_us,utilisation,utilisation_while_busy\n";
  for (std::size_t i = 0; i < outcome.links.size(); ++i) {
    const LinkUse& use = outcome.links[i];
    if (use.bytes == 0) continue;
    const auto link = static_cast<LinkId>(i);
    const Link& ends = topology.links()[i];
    const double full = use.bytes / topology.capacity(link);  // seconds at full rate
    out << fmt::format("{},{},{},{},{:.6g},{:.17g},{:.9g},{:.6f},{:.6f}\n", i,
                       topology.vertex_name(ends.from), topology.vertex_name(ends.to),
                       topology.link_class(link).name, topology.capacity(link) / 1e9, use.bytes,
                       use.busy.count() * 1e6, full / outcome.time.count(),
                       full / use.busy.count());
  }
}

void write_rank_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome) {
  out << "what,number,host,end_us\n";
  for (std::size_t rank = 0; rank < outcome.rank_end.size(); ++rank) {
    out << fmt::format("rank,{},{},{:.17g}\n", rank,
                       scenario.machine.topology.vertex_name(scenario.placement[rank]),
                       outcome.rank_end[rank].count() * 1e6);
  }
  for (std::size_t round = 0; round < outcome.round_end.size(); ++round) {
    out << fmt::format("round,{},,{:.17g}\n", round, outcome.round_end[round].count() * 1e6);
  }
}

}  // namespace collbench

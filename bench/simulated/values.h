// The syntax of a simulated case's disturbances: ranks that start late, hosts with slow links.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "topologies/topology.h"

namespace collbench {

/// "3:10us,7:1ms": rank and delay; empty for none. Throws InvalidArgument.
std::vector<std::pair<int, Seconds>> parse_stragglers(const std::string& text);

struct SlowHosts {
  std::vector<Host> hosts;
  std::vector<double> factors;  // of the bandwidth, above 0
};
/// "3:0.5,4:0.9": host and the share of its links' bandwidth. Throws InvalidArgument.
SlowHosts parse_slow_hosts(const std::string& text);

}  // namespace collbench

#include "simulator/engines.h"

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "core/suggest.h"
#include "heuristics/predict.h"

namespace collbench {

void check(const Scenario& scenario) {
  check_placement(scenario.schedule, scenario.machine.topology, scenario.placement, scenario.count);
  if (scenario.protocol.empty()) return;
  std::vector<std::string> names;
  for (const Protocol& protocol : scenario.machine.costs.protocols) names.push_back(protocol.name);
  require(!names.empty(), fmt::format("protocol '{}' is asked for, but {} has none",
                                      scenario.protocol, scenario.machine.topology.name()));
  index_of("protocol", scenario.protocol, names);
}

void require_memory(std::size_t bytes, const std::string& what) {
  if (bytes < std::size_t{16} << 20) return;
  const auto available = static_cast<std::size_t>(available_memory().count);
  if (bytes <= available - available / 8) return;
  const auto text = [](std::size_t n) { return rounded(Bytes{static_cast<std::int64_t>(n)}); };
  throw InvalidArgument(
      fmt::format("{} would need {} more memory, but only {} are available; use "
                  "fewer ranks, or --engine quotient or model",
                  what, text(bytes), text(available)));
}

}  // namespace collbench

#include "simulator/engines.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 5> engine_names{"auto", "model", "quotient", "fluid",
                                                       "simgrid"};
constexpr std::array<std::string_view, 2> posting_names{"eager", "rendezvous"};

void check_placement(const Scenario& scenario) {
  const int ranks = scenario.schedule.ranks();
  const Topology& topology = scenario.machine.topology;
  require(static_cast<int>(scenario.placement.size()) == ranks,
          fmt::format("{} has {} ranks, but {} are placed", scenario.schedule.name(), ranks,
                      scenario.placement.size()));
  for (std::size_t r = 0; r < scenario.placement.size(); ++r) {
    const Host host = scenario.placement[r];
    if (host >= 0 && host < topology.hosts()) continue;
    throw InvalidArgument(fmt::format("rank {} is placed on host {}, but {} has hosts 0 to {}", r,
                                      host, topology.name(), topology.hosts() - 1));
  }
}

}  // namespace

std::string_view to_string(Engine engine) { return engine_names[static_cast<std::size_t>(engine)]; }

Engine parse_engine(std::string_view name) {
  return static_cast<Engine>(index_of("engine", name, engine_names));
}

std::string_view to_string(Posting posting) {
  return posting_names[static_cast<std::size_t>(posting)];
}

Posting parse_posting(std::string_view name) {
  return static_cast<Posting>(index_of("way of posting", name, posting_names));
}

void check(const Scenario& scenario) {
  check_placement(scenario);
  require(scenario.count >= 0, fmt::format("a vector cannot have {} elements", scenario.count));
  for (const auto& [rank, delay] : scenario.disturbance.stragglers) {
    require(rank >= 0 && rank < scenario.schedule.ranks(),
            fmt::format("straggler {} does not exist; ranks are 0 to {}", rank,
                        scenario.schedule.ranks() - 1));
  }
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

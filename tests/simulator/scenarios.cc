#include "tests/simulator/scenarios.h"

#include <numeric>
#include <utility>

#include "algorithms/registry.h"

namespace collbench {

Machine plain_star(int hosts) {
  const LinkClass link{.name = "link",
                       .nominal = {50e9},
                       .efficiency = 1,
                       .latency = Seconds{1e-6},
                       .level = 0,
                       .source = {}};
  return {star(hosts, link), {}, {}, {}};
}

Scenario plain_scenario(Schedule schedule, Machine machine) {
  std::vector<Host> placement(static_cast<std::size_t>(schedule.ranks()));
  std::iota(placement.begin(), placement.end(), 0);
  return {std::move(schedule), std::move(machine), std::move(placement)};
}

Scenario plain_scenario(const std::string& spec, int ranks, std::int64_t bytes, Machine machine) {
  Scenario scenario = plain_scenario(make_schedule(spec, ranks), std::move(machine));
  scenario.count = bytes / 4;
  scenario.equal_chunks = true;
  return scenario;
}

Schedule listed_schedule(int ranks, int chunks, int rounds, std::vector<Sent> messages) {
  const auto play = [messages = std::move(messages)](Rank r, int t, Round& out) {
    for (const Sent& m : messages) {
      if (m.round != t) continue;
      if (m.from == r) out.send(m.to, m.chunks);
      if (m.to == r) out.recv(m.from, m.chunks);
    }
  };
  return {"listed", {ranks, chunks, rounds}, play};
}

}  // namespace collbench

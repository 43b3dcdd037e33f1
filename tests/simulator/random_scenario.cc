#include "tests/simulator/random_scenario.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "tests/simulator/scenarios.h"

#include "algorithms/resolve.h"
#include "core/error.h"
#include "core/random.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

using Random = RandomEngine;

int below(Random& random, int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); }

bool resolves(const Schedule& schedule, Rank rank, int round) {
  try {
    resolve(schedule, rank, round);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

/// Matched rounds of messages between random pairs; not an all-reduce, but playable.
Schedule random_schedule(Random& random, int ranks) {
  const int rounds = 1 + below(random, 6);
  const int chunks = 4 + below(random, 29);
  const auto table = std::make_shared<std::vector<std::vector<Op>>>(ranks * rounds);
  const auto play = [table, rounds](Rank r, int t, Round& out) {
    for (const Op& op : (*table)[r * rounds + t]) out.push(op);
  };
  const Schedule schedule("random", {ranks, chunks, rounds}, play);
  for (int t = 0; t < rounds; ++t) {
    for (int i = below(random, 2 * ranks + 1); i > 0; --i) {
      const Rank from = below(random, ranks);
      const Rank to = below(random, ranks);
      if (from == to) continue;
      const int first = below(random, chunks);
      const Chunks some{first, 1 + below(random, std::min(3, chunks - first))};
      std::vector<Op>& receiver = (*table)[to * rounds + t];
      receiver.push_back({below(random, 2) == 0 ? OpKind::recv : OpKind::recv_reduce, from, some});
      if (resolves(schedule, to, t)) {
        (*table)[from * rounds + t].push_back({OpKind::send, to, some});
      } else {
        receiver.pop_back();
      }
    }
  }
  return schedule;
}

/// A connected graph: a random tree over hosts and switches, and some more cables.
Topology random_topology(Random& random, int hosts) {
  const int vertices = hosts + 1 + below(random, 4);
  std::vector<LinkClass> classes;
  for (int c = 0; c < 3; ++c) {
    classes.push_back({.name = "class",
                       .nominal = {1e9 * (1 + below(random, 4))},
                       .efficiency = below(random, 2) == 0 ? 1 : 0.7,
                       .latency = Seconds{1e-7 * below(random, 20)},
                       .level = below(random, 2),
                       .source = {}});
  }
  std::vector<Cable> cables;
  for (Vertex v = 1; v < vertices; ++v) {
    cables.push_back(
        {v, below(random, v), below(random, 3), static_cast<float>(1 + below(random, 2))});
  }
  for (int i = below(random, vertices); i > 0; --i) {
    const Vertex a = below(random, vertices);
    const Vertex b = below(random, vertices);
    if (a != b) cables.push_back({a, b, below(random, 3)});
  }
  return graph("random", hosts, vertices, {Layout::Kind::flat, {hosts}, {}}, classes, cables);
}

Costs random_costs(Random& random) {
  Costs costs;
  if (below(random, 2) == 0) costs.message_latency = {{{0}, Seconds{1e-6}}, {{256}, Seconds{3e-6}}};
  if (below(random, 2) == 0) costs.wire_factor = 1.25;
  if (below(random, 2) == 0) costs.message_cap = {0.4e9 * (1 + below(random, 3))};
  if (below(random, 2) == 0) costs.reduction_rate = {2e9};
  if (below(random, 2) == 0) costs.per_collective = Seconds{5e-6};
  if (below(random, 2) == 0) costs.message_gap = {Seconds{3e-7}};
  if (below(random, 2) == 0) {
    costs.protocols = {{.name = "LL",
                        .wire_factor = 2,
                        .message_latency = {Seconds{1e-7}, Seconds{2e-7}},
                        .message_cap = {{0}, {0.7e9}},
                        .source = {}}};
    if (below(random, 2) == 0) costs.protocols[0].message_gap = {Seconds{0}, Seconds{7e-7}};
  }
  return costs;
}

}  // namespace

Scenario random_scenario(std::uint64_t seed) {
  Random random = random_engine(seed, "random scenario");
  const int ranks = 2 + below(random, 7);
  const int hosts = ranks + below(random, 3);
  Scenario scenario =
      plain_scenario(random_schedule(random, ranks),
                     {random_topology(random, hosts), random_costs(random), {}, {}});
  scenario.placement.resize(hosts);
  std::iota(scenario.placement.begin(), scenario.placement.end(), 0);
  std::shuffle(scenario.placement.begin(), scenario.placement.end(), random);
  scenario.placement.resize(ranks);
  scenario.count = below(random, 4000);
  scenario.posting = below(random, 2) == 0 ? Posting::eager : Posting::rendezvous;
  scenario.equal_chunks = below(random, 2) == 0;
  if (!scenario.machine.costs.protocols.empty() && below(random, 2) == 0) scenario.protocol = "LL";
  if (below(random, 3) == 0) scenario.disturbance.jitter = Seconds{1e-6};
  if (below(random, 3) == 0)
    scenario.disturbance.stragglers = {{below(random, ranks), Seconds{1e-5}}};
  return scenario;
}

}  // namespace collbench

// The fluid engine: simulated messages per second, with and without contention.
#include <cstdint>
#include <numeric>
#include <string>

#include <benchmark/benchmark.h>

#include "algorithms/registry.h"
#include "simulator/engines.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

enum class NetworkKind : std::uint8_t { star, torus, fat_tree, dragonfly };

/// 50 GB/s per cable; 1 us over the star, 500 ns per cable elsewhere. 1,024 hosts but for the star.
Topology network(NetworkKind kind, int hosts) {
  const LinkClass link{.name = "link",
                       .nominal = {50e9},
                       .efficiency = 1,
                       .latency = Seconds{kind == NetworkKind::star ? 1e-6 : 5e-7},
                       .level = 0,
                       .source = {}};
  const DragonflyLinks cables{1, link};
  switch (kind) {
    case NetworkKind::torus:
      return torus({16, 8, 8}, {true, true, true}, {link});
    case NetworkKind::fat_tree:
      return fat_tree({32, 32}, {1, 32}, {1, 1}, {link});
    case NetworkKind::dragonfly:
      return dragonfly(8, 8, 8, 2, cables, cables, cables, link);
    case NetworkKind::star:
      break;
  }
  return star(hosts, link);
}

/// Items are messages.
void fluid(benchmark::State& state, const std::string& spec, NetworkKind kind, Posting posting) {
  const auto ranks = static_cast<int>(state.range(0));
  Scenario scenario{make_schedule(spec, ranks), {network(kind, ranks), {}, {}, {}}};
  scenario.placement.resize(static_cast<std::size_t>(ranks));
  std::iota(scenario.placement.begin(), scenario.placement.end(), 0);
  scenario.count = 1 << 18;
  scenario.equal_chunks = true;
  scenario.posting = posting;
  std::int64_t messages = 0;
  for (auto _ : state) messages += simulate_fluid(scenario).messages;
  state.SetItemsProcessed(messages);
}

BENCHMARK_CAPTURE(fluid, ring_star, "ring", NetworkKind::star, Posting::eager)->Arg(64)->Arg(1024);
BENCHMARK_CAPTURE(fluid, ring_star_rendezvous, "ring", NetworkKind::star, Posting::rendezvous)
    ->Arg(1024);
BENCHMARK_CAPTURE(fluid, ring_torus, "ring", NetworkKind::torus, Posting::eager)->Arg(1024);
BENCHMARK_CAPTURE(fluid, ring_fat_tree, "ring", NetworkKind::fat_tree, Posting::eager)->Arg(1024);
BENCHMARK_CAPTURE(fluid, two_rings_star, "ring:bidirectional", NetworkKind::star, Posting::eager)
    ->Arg(1024);
BENCHMARK_CAPTURE(fluid, halving_torus, "halving-doubling", NetworkKind::torus, Posting::eager)
    ->Arg(1024);
BENCHMARK_CAPTURE(fluid, halving_dragonfly, "halving-doubling", NetworkKind::dragonfly,
                  Posting::eager)
    ->Arg(1024);
BENCHMARK_CAPTURE(fluid, double_tree_star, "double-tree", NetworkKind::star, Posting::eager)
    ->Arg(1024);
BENCHMARK_CAPTURE(fluid, direct_star, "direct", NetworkKind::star, Posting::eager)->Arg(256);

}  // namespace
}  // namespace collbench

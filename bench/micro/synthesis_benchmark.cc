// Bounds and plans of networks: how long a certificate and the trees of a schedule take.
//
//   collbench_micro --benchmark_filter=Synthesis
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "heuristics/synthesis/synthesise.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

/// Boxes of 8 GPUs on an NVSwitch, 300 GB/s, an adapter of 25 GB/s each on a switch per rail.
Topology boxes_on_rails(int boxes) {
  std::string list = "from,to,bandwidth_GBps,kind\n";
  const auto join = [&list](const std::string& a, const std::string& b, int rate) {
    list += fmt::format("{},{},{},link\n{},{},{},link\n", a, b, rate, b, a, rate);
  };
  for (int gpu = 0; gpu < 8 * boxes; ++gpu) {
    join(fmt::format("g{}", gpu), fmt::format("s_nv{}", gpu / 8), 300);
    join(fmt::format("g{}", gpu), fmt::format("s_rail{}", gpu % 8), 25);
  }
  return from_edge_list(list, "boxes.csv").topology;
}

void BM_SynthesisBound(benchmark::State& state) {
  const Topology topology = boxes_on_rails(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(all_gather_bound(capacity_graph(topology)));
  }
}
BENCHMARK(BM_SynthesisBound)->Arg(8)->Arg(128)->Unit(benchmark::kMillisecond);

void BM_SynthesisPlan(benchmark::State& state) {
  const Topology topology = boxes_on_rails(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const SynthesisedPlan plan = synthesise(topology, CollectiveKind::all_reduce);
    benchmark::DoNotOptimize(to_schedule(plan, Bytes{1 << 30}));
  }
}
BENCHMARK(BM_SynthesisPlan)->Arg(2)->Arg(8)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace collbench

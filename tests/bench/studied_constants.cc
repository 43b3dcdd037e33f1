// The constants of NCCL's times that collbench_library_fit fits, and what is known of each before.
#include "tests/bench/studied_constants.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace collbench {
namespace {

/// One for each generation or network that the tables have.
template <typename Row>
void add_each(std::vector<StudiedConstant>& all, const std::vector<StudiedTable>& tables,
              Row NcclHardware::*row, const std::string& what, ConstantPrior prior,
              void (*change)(Row&, double)) {
  std::set<std::string> names;
  for (const StudiedTable& table : tables) names.insert((table.inputs.hardware.*row).name);
  for (const std::string& name : names) {
    all.push_back({fmt::format("{} {}", name, what), prior, [=](const Predicted& of, double value) {
                     Row& has = of.inputs.hardware.*row;
                     if (has.name == name) change(has, value);
                   }});
  }
}

void add_library(std::vector<StudiedConstant>& all) {
  const auto add = [&](const char* name, ConstantPrior prior, double& (*of)(LibraryConstants&)) {
    all.push_back(
        {name, prior, [of](const Predicted& at, double value) { of(at.library) = value; }});
  };
  using C = LibraryConstants;
  add("start LL, us", {6.6, .3}, [](C& c) -> double& { return c.start_us[0]; });
  add("start LL128, us", {14, .3}, [](C& c) -> double& { return c.start_us[1]; });
  add("start Simple, us", {8.4, .3}, [](C& c) -> double& { return c.start_us[2]; });
  add("step LL, us", {.6, .4}, [](C& c) -> double& { return c.step_us[0]; });
  add("step LL128, us", {1.25, .4}, [](C& c) -> double& { return c.step_us[1]; });
  add("step Simple, us", {3.4, .4}, [](C& c) -> double& { return c.step_us[2]; });
  add("hop LL128 of LL", {1, .4}, [](C& c) -> double& { return c.hop_ll128_of_ll; });
  add("share LL", {.5, .3}, [](C& c) -> double& { return c.reached_share[0]; });
  add("share LL128", {.93, .1}, [](C& c) -> double& { return c.reached_share[1]; });
  add("channel LL, GB/s", {2.5, .5}, [](C& c) -> double& { return c.channel_rate[0]; });
  add("channel LL128, GB/s", {20, .5}, [](C& c) -> double& { return c.channel_rate[1]; });
  add("overlap ring LL", {.7, .35}, [](C& c) -> double& { return c.overlap_of_ring[0]; });
  add("overlap ring LL128", {.7, .35}, [](C& c) -> double& { return c.overlap_of_ring[1]; });
  add("overlap ring Simple", {.7, .35}, [](C& c) -> double& { return c.overlap_of_ring[2]; });
  add("overlap tree LL", {.5, .35}, [](C& c) -> double& { return c.overlap_of_tree[0]; });
  add("overlap tree LL128", {.5, .35}, [](C& c) -> double& { return c.overlap_of_tree[1]; });
  add("overlap tree Simple", {.5, .35}, [](C& c) -> double& { return c.overlap_of_tree[2]; });
  add("overlap NVLS", {6, .4}, [](C& c) -> double& { return c.overlap_of_nvls; });
  // One system has tables of both: 269 GB/s on one node, 245 on two.
  add("NVLS far share", {.92, .02}, [](C& c) -> double& { return c.nvls_far_share; });
  add("NVLS, us", {25, .4}, [](C& c) -> double& { return c.nvls_us; });
  add("ring's share of a hop", {.8, .35}, [](C& c) -> double& { return c.ring_hop_share; });
  // A phase is a message there and what says so: two steps.
  add("pairs LL, us", {1.2, .7}, [](C& c) -> double& { return c.pairs_us[0]; });
  add("pairs Simple, us", {6.8, .7}, [](C& c) -> double& { return c.pairs_us[2]; });
  add("pairs' share", {.9, .3}, [](C& c) -> double& { return c.pairs_share; });
}

void add_generations(std::vector<StudiedConstant>& all, const std::vector<StudiedTable>& tables) {
  const auto add = [&](const char* what, double deviation, void (*change)(GpuGeneration&, double)) {
    add_each(all, tables, &NcclHardware::gpu, what, {1, deviation}, change);
  };
  add("start", .25, [](GpuGeneration& gpu, double f) { gpu.start_factor = f; });
  add("step", .4, [](GpuGeneration& gpu, double f) { gpu.step_factor = f; });
  add("channel", .7, [](GpuGeneration& gpu, double f) {
    if (gpu.channel_factor > 0) gpu.channel_factor = f;
  });
  add("LL128 overlap", .35, [](GpuGeneration& gpu, double f) { gpu.ll128_overlap_factor = f; });
  add("NVLS fill", .7, [](GpuGeneration& gpu, double f) { gpu.nvls_fill = Seconds{f * 100e-6}; });
}

/// EFA and TCP are paid for by software: a class of its own.
bool by_software(const AdapterNetwork& network) {
  return network.name.starts_with("efa") || network.name.starts_with("gpudirect") ||
         network.name == "sockets" || network.name == "software";
}

void add_networks(std::vector<StudiedConstant>& all, const std::vector<StudiedTable>& tables) {
  using N = AdapterNetwork;
  const auto everywhere = [&](const char* name, ConstantPrior prior, void (*change)(N&, double)) {
    all.push_back({name, prior, [change](const Predicted& of, double value) {
                     change(of.inputs.hardware.network, value);
                   }});
  };
  everywhere("hop LL, us", {6.3, .4}, [](N& n, double us) { n.hop_ll = Seconds{us * 1e-6}; });
  everywhere("hop Simple, us", {17, .4},
             [](N& n, double us) { n.hop_simple = Seconds{us * 1e-6}; });
  everywhere("software", {6.8, 1}, [](N& n, double f) {
    if (!by_software(n)) return;
    n.hop_ll *= f;
    n.hop_simple *= f;
  });
  const auto add = [&](const char* what, ConstantPrior prior, void (*change)(N&, double)) {
    add_each(all, tables, &NcclHardware::network, what, prior, change);
  };
  add("hop", {1, .5}, [](N& n, double f) {
    n.hop_ll *= f;
    n.hop_simple *= f;
  });
  add("hop Simple", {1, .5}, [](N& n, double f) { n.hop_simple *= f; });
  add("share LL", {.39, .7}, [](N& n, double f) { n.ll_share = std::min(f, 1.0); });
  add("share LL128", {.91, .4}, [](N& n, double f) { n.ll128_share = std::min(f, 1.0); });
  add("short rings", {.8, .7}, [](N& n, double f) { n.short_ring_share = std::min(f, 1.0); });
}

void add_systems(std::vector<StudiedConstant>& all, const std::vector<StudiedTable>& tables) {
  std::set<std::string> systems;
  for (const StudiedTable& table : tables) systems.insert(table.system);
  for (const std::string& system : systems) {
    all.push_back({system + " rate", {1, .2}, [system](const Predicted& of, double factor) {
                     if (of.table.system != system) return;
                     of.inputs.hardware.of_node *= factor;
                     of.inputs.hardware.of_gpu *= factor;
                     of.inputs.hardware.nvls *= factor;
                   }});
    all.push_back({system + " latency", {1, .06}, [system](const Predicted& of, double factor) {
                     if (of.table.system != system) return;
                     of.inputs.hardware.gpu.start_factor *= factor;
                     of.inputs.hardware.gpu.step_factor *= factor;
                     of.inputs.hardware.network.hop_ll *= factor;
                     of.inputs.hardware.network.hop_simple *= factor;
                   }});
  }
}

}  // namespace

std::vector<StudiedConstant> studied_constants(const std::vector<StudiedTable>& tables) {
  std::vector<StudiedConstant> all;
  add_library(all);
  add_generations(all, tables);
  add_networks(all, tables);
  add_systems(all, tables);
  return all;
}

}  // namespace collbench

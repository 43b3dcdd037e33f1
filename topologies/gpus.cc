#include "topologies/gpus.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace collbench {
namespace {

constexpr Seconds us(double microseconds) { return Seconds{microseconds * 1e-6}; }

}  // namespace

std::span<const GpuGeneration> gpu_generations() {
  static const std::array<GpuGeneration, 6> rows{{
      {.name = "volta",
       .compute_capability = 70,
       .start_factor = 0.8,
       .step_factor = 0.74,
       .channel_factor = 0.54,
       .ll128_overlap_factor = 0.66,
       .efficiency = 0.79,
       .search_share = 0.8,
       .ll128_far = false,
       .fitted = true,
       .source = "fitted: ABCI, p3dn, cube mesh; NCCL 2.28.9, src/graph/topo.h: 20 of 25 GB/s a "
                 "link"},
      {.name = "ampere",
       .compute_capability = 80,
       .start_factor = 1.13,
       .step_factor = 1.23,
       .channel_factor = 0.51,
       .ll128_overlap_factor = 0.69,
       .efficiency = 0.77,
       .search_share = 0.8,
       .fitted = true,
       .source = "fitted: 7 systems of A100; efficiency: NVIDIA GTC24 S62129, 232 of 300 GB/s; "
                 "NCCL 2.28.9, src/graph/topo.h: 20 of 25 GB/s a link"},
      {.name = "hopper",
       .compute_capability = 90,
       .start_factor = 0.88,
       .step_factor = 0.94,
       .channel_factor = 3.06,
       .ll128_overlap_factor = 1.13,
       .nvls_fill = us(80),
       .efficiency = 0.81,
       .search_share = 0.824,
       .fitted = true,
       .source = "fitted: 15 systems of GH200, H100, H200 and H20; NCCL 2.28.9, src/graph/topo.h: "
                 "20.6 of 25 GB/s a link"},
      {.name = "blackwell",
       .compute_capability = 100,
       .start_factor = 1.27,
       .step_factor = 1.58,
       .channel_factor = 1.95,
       .ll128_overlap_factor = 1.13,
       .nvls_fill = us(204),
       .efficiency = 0.78,
       .search_share = 0.802,
       .fitted = true,
       .source = "fitted: A4, p6-b200, GB200 and GB300, LL128 as Hopper; efficiency: NVIDIA GTC25 "
                 "S72583; NCCL 2.28.9, src/graph/topo.h: 40.1 of 50 GB/s a link"},
      {.name = "mi300x",
       .compute_capability = 80,
       .start_factor = 1.13,
       .step_factor = 1.09,
       .efficiency = 0.775,
       .search_share = 0.75,
       .ll128 = false,
       .fitted = true,
       .source = "fitted: three systems; RCCL, src/graph/topo.h: 48 of 64 GB/s a link"},
      {.name = "unknown", .source = "the mean of the generations that were fitted"},
  }};
  return rows;
}

namespace {

/// AWS's Elastic Fabric Adapter, from p3dn to p6.
std::vector<AdapterNetwork> elastic_fabrics() {
  return {
      {.name = "efa-v1",
       .hop_ll = us(64.8),
       .hop_simple = us(325),
       .efficiency = 0.9,
       .ll128_share = 0.81,
       .short_ring_share = 0.94,
       .fitted = true,
       .source = "fitted: p3dn, p4de"},
      {.name = "efa-v2",
       .hop_ll = us(28.4),
       .hop_simple = us(112),
       .efficiency = 0.9,
       .fitted = true,
       .source = "fitted: p5; its NVLS hides the efficiency, which is taken from efa-v1"},
      {.name = "efa-v3",
       .hop_ll = us(18.5),
       .hop_simple = us(73),
       .efficiency = 0.9,
       .source = "efa-v2 less the 35 % that AWS states for p5en; not measured here"},
      {.name = "efa-v4",
       .hop_ll = us(15.7),
       .hop_simple = us(74),
       .efficiency = 0.9,
       .source = "LL fitted to one table of p6-b200, to 256 B; Simple in proportion, not measured"},
  };
}

std::vector<AdapterNetwork> all_networks() {
  std::vector<AdapterNetwork> rows{
      {.name = "infiniband",
       .hop_ll = us(4.93),
       .hop_simple = us(23.6),
       .ll_share = 0.3,
       .ll128_share = 0.75,
       .short_ring_share = 1,
       .fitted = true,
       .source = "fitted: EDR, HDR and NDR alike"},
      {.name = "roce",
       .hop_ll = us(7.6),
       .hop_simple = us(31.6),
       .efficiency = 0.84,
       .ll128_share = 0.92,
       .fitted = true,
       .source = "fitted: H200 with BlueField-3, OCI's A100 and H100"},
      {.name = "roce-vm",
       .hop_ll = us(7.6),
       .hop_simple = us(35.6),
       .efficiency = 0.92,
       .source = "Simple and efficiency fitted to A4, from 8 MiB on; LL as roce"},
      {.name = "slingshot",
       .hop_ll = us(4.4),
       .hop_simple = us(26.5),
       .ll_share = 0.093,
       .short_ring_share = 0.32,
       .reaches_gpu = false,
       .source = "hops fitted to Alps alone; shares: half-way, in logarithms, between Alps, whose "
                 "libfabric copies messages of 8 to 32 KiB, and the mean of other adapters"},
      {.name = "gpudirect-tcpxo",
       .hop_ll = us(52),
       .hop_simple = us(350),
       .efficiency = 0.93,
       .ll128_share = 0.51,
       .fitted = true,
       .source = "fitted: A3 Mega, whose table has LL128 at a third of the rate to 16 MiB"},
      {.name = "gpudirect-tcpx",
       .hop_ll = us(52),
       .hop_simple = us(350),
       .efficiency = 0.8,
       .source = "assumed as gpudirect-tcpxo; efficiency: TCP, NVIDIA GTC24 S62129 slide 12"},
      {.name = "sockets",
       .hop_ll = us(35),
       .hop_simple = us(164),
       .efficiency = 0.8,
       .reaches_gpu = false,
       .source = "assumed as software; efficiency: TCP, NVIDIA GTC24 S62129 slide 12"},
      {.name = "offloaded", .source = "the mean of adapters that reach memory themselves"},
      {.name = "software",
       .hop_ll = us(35),
       .hop_simple = us(164),
       .source = "the mean of EFA and GPUDirect-TCPXO"},
  };
  std::ranges::copy(elastic_fabrics(), std::back_inserter(rows));
  return rows;
}

}  // namespace

std::span<const AdapterNetwork> adapter_networks() {
  static const std::vector<AdapterNetwork> rows = all_networks();
  return rows;
}

const AdapterNetwork& network_by_latency(Seconds way) {
  constexpr Seconds least_of_software{10e-6};
  const char* const name = way < least_of_software ? "offloaded" : "software";
  return *std::ranges::find(adapter_networks(), name, &AdapterNetwork::name);
}

}  // namespace collbench

#include "topologies/gpus.h"

#include <array>

namespace collbench {

std::span<const GpuGeneration> gpu_generations() {
  static const std::array<GpuGeneration, 6> rows{{
      {.name = "volta",
       .compute_capability = 70,
       .start_factor = 0.92,
       .step_factor = 1.14,
       .efficiency = 0.79,
       .search_share = 0.8,
       .ll128_far = false,
       .source = "fitted: ABCI, p3dn, cube mesh; NCCL 2.28.9, src/graph/topo.h: 20 of 25 GB/s a "
                 "link"},
      {.name = "ampere",
       .compute_capability = 80,
       .start_factor = 1.26,
       .step_factor = 1.6,
       .efficiency = 0.77,
       .search_share = 0.8,
       .source = "fitted: ABCI, DGX A100, p4de; efficiency: NVIDIA GTC24 S62129, 232 of 300 GB/s; "
                 "NCCL 2.28.9, src/graph/topo.h: 20 of 25 GB/s a link"},
      {.name = "hopper",
       .compute_capability = 90,
       .start_factor = 0.95,
       .step_factor = 0.71,
       .overlap_factor = 1.35,
       .efficiency = 0.81,
       .search_share = 0.824,
       .source = "fitted: GH200, H100, H200, H20; NCCL 2.28.9, src/graph/topo.h: 20.6 of 25 GB/s a "
                 "link"},
      {.name = "blackwell",
       .compute_capability = 100,
       .start_factor = 0.95,
       .step_factor = 0.71,
       .overlap_factor = 1.35,
       .efficiency = 0.78,
       .search_share = 0.802,
       .source = "assumed as Hopper, no table was fitted; efficiency: NVIDIA GTC25 S72583; NCCL "
                 "2.28.9, src/graph/topo.h: 40.1 of 50 GB/s a link"},
      {.name = "mi300x",
       .compute_capability = 80,
       .start_factor = 1.09,
       .step_factor = 0.7,
       .overlap_factor = 1.4,
       .efficiency = 0.775,
       .search_share = 0.75,
       .ll128 = false,
       .source = "fitted: one table of rccl-tests; RCCL, src/graph/topo.h: 48 of 64 GB/s a link"},
      {.name = "unknown", .source = "the mean of the generations that were fitted"},
  }};
  return rows;
}

std::span<const AdapterNetwork> adapter_networks() {
  constexpr auto us = [](double microseconds) { return Seconds{microseconds * 1e-6}; };
  static const std::array<AdapterNetwork, 11> rows{{
      {.name = "infiniband",
       .hop_ll = us(4.3),
       .hop_simple = us(18),
       .source = "fitted: ABCI, DGX A100, H20; EDR, HDR and NDR alike"},
      {.name = "roce",
       .hop_ll = us(13),
       .hop_simple = us(23),
       .efficiency = 0.84,
       .source = "fitted: H200 with ConnectX-7 in a cloud and with BlueField-3"},
      {.name = "slingshot",
       .hop_ll = us(4.2),
       .hop_simple = us(16),
       .ll_share = 0.027,
       .short_ring_share = 0.19,
       .reaches_gpu = false,
       .source = "fitted: Alps. Messages of 8 to 32 KiB are copied by libfabric at about 1 GB/s an "
                 "adapter, those of 64 to 128 KiB flow at 3.7"},
      {.name = "efa-v1",
       .hop_ll = us(61),
       .hop_simple = us(230),
       .efficiency = 0.9,
       .source = "fitted: p3dn, p4de"},
      {.name = "efa-v2",
       .hop_ll = us(29),
       .hop_simple = us(46),
       .efficiency = 0.9,
       .source = "fitted: p5; its NVLS hides the efficiency, which is taken from efa-v1"},
      {.name = "efa-v3",
       .hop_ll = us(19),
       .hop_simple = us(30),
       .efficiency = 0.9,
       .source = "efa-v2 less the 35 % of latency that AWS states for p5en against p5; not "
                 "measured here"},
      {.name = "gpudirect-tcpxo",
       .hop_ll = us(54),
       .hop_simple = us(200),
       .efficiency = 0.93,
       .ll128_share = 0.35,
       .source = "fitted: A3 Mega, one table, which shows LL128 at a third of the rate to 16 MiB"},
      {.name = "gpudirect-tcpx",
       .hop_ll = us(54),
       .hop_simple = us(200),
       .efficiency = 0.8,
       .source = "assumed as gpudirect-tcpxo; efficiency: TCP, NVIDIA GTC24 S62129 slide 12"},
      {.name = "sockets",
       .hop_ll = us(43),
       .hop_simple = us(116),
       .efficiency = 0.8,
       .reaches_gpu = false,
       .source = "assumed as software; efficiency: TCP at 100 Gb/s, NVIDIA GTC24 S62129 slide 12"},
      {.name = "offloaded",
       .source = "the mean of networks whose adapters reach memory themselves"},
      {.name = "software",
       .hop_ll = us(43),
       .hop_simple = us(116),
       .source = "6.8 times offloaded: the mean of EFA and GPUDirect-TCPXO"},
  }};
  return rows;
}

}  // namespace collbench

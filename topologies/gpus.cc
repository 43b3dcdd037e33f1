#include "topologies/gpus.h"

#include <array>

namespace collbench {

std::span<const GpuGeneration> gpu_generations() {
  static const std::array<GpuGeneration, 6> rows{{
      {.name = "volta",
       .compute_capability = 70,
       .start_factor = 0.81,
       .step_factor = 0.92,
       .channel_factor = 1,
       .efficiency = 0.79,
       .search_share = 0.8,
       .ll128_far = false,
       .fitted = true,
       .source = "fitted: ABCI, p3dn, cube mesh; NCCL 2.28.9, src/graph/topo.h: 20 of 25 GB/s a "
                 "link"},
      {.name = "ampere",
       .compute_capability = 80,
       .start_factor = 1.16,
       .step_factor = 1.35,
       .channel_factor = 0.92,
       .efficiency = 0.77,
       .search_share = 0.8,
       .fitted = true,
       .source = "fitted: ABCI, DGX A100, p4de; efficiency: NVIDIA GTC24 S62129, 232 of 300 GB/s; "
                 "NCCL 2.28.9, src/graph/topo.h: 20 of 25 GB/s a link"},
      {.name = "hopper",
       .compute_capability = 90,
       .start_factor = 0.81,
       .step_factor = 0.9,
       .channel_factor = 3.05,
       .ll128_overlap_factor = 1.53,
       .efficiency = 0.81,
       .search_share = 0.824,
       .fitted = true,
       .source = "fitted: GH200, H100, H200, H20; NCCL 2.28.9, src/graph/topo.h: 20.6 of 25 GB/s a "
                 "link"},
      {.name = "blackwell",
       .compute_capability = 100,
       .start_factor = 0.81,
       .step_factor = 0.9,
       .channel_factor = 3.05,
       .ll128_overlap_factor = 1.53,
       .efficiency = 0.78,
       .search_share = 0.802,
       .source = "assumed as Hopper, no table was fitted; efficiency: NVIDIA GTC25 S72583; NCCL "
                 "2.28.9, src/graph/topo.h: 40.1 of 50 GB/s a link"},
      {.name = "mi300x",
       .compute_capability = 80,
       .start_factor = 1.12,
       .step_factor = 1.25,
       .efficiency = 0.775,
       .search_share = 0.75,
       .ll128 = false,
       .fitted = true,
       .source = "fitted: one table of rccl-tests, steps to its times to 512 B; RCCL, "
                 "src/graph/topo.h: 48 of 64 GB/s a link"},
      {.name = "unknown", .source = "the mean of the generations that were fitted"},
  }};
  return rows;
}

namespace {

constexpr Seconds us(double microseconds) { return Seconds{microseconds * 1e-6}; }

}  // namespace

std::span<const AdapterNetwork> adapter_networks() {
  static const std::array<AdapterNetwork, 12> rows{{
      {.name = "infiniband",
       .hop_ll = us(4.7),
       .hop_simple = us(17.5),
       .fitted = true,
       .source = "fitted: ABCI, DGX A100, H20; EDR, HDR and NDR alike"},
      {.name = "roce",
       .hop_ll = us(8),
       .hop_simple = us(15.1),
       .efficiency = 0.84,
       .fitted = true,
       .source = "fitted: H200 with BlueField-3"},
      {.name = "roce-vm",
       .hop_ll = us(17.4),
       .hop_simple = us(22.9),
       .efficiency = 0.84,
       .fitted = true,
       .source = "fitted: H200, ConnectX-7 in a cloud's virtual machines, one table"},
      {.name = "slingshot",
       .hop_ll = us(4.1),
       .hop_simple = us(23.3),
       .ll_share = 0.02,
       .short_ring_share = 0.1,
       .reaches_gpu = false,
       .fitted = true,
       .source = "fitted: Alps; libfabric copies LL's messages of 8 to 32 KiB"},
      {.name = "efa-v1",
       .hop_ll = us(64),
       .hop_simple = us(207),
       .efficiency = 0.9,
       .fitted = true,
       .source = "fitted: p3dn, p4de"},
      {.name = "efa-v2",
       .hop_ll = us(29.7),
       .hop_simple = us(60),
       .efficiency = 0.9,
       .fitted = true,
       .source = "fitted: p5; its NVLS hides the efficiency, which is taken from efa-v1"},
      {.name = "efa-v3",
       .hop_ll = us(19.3),
       .hop_simple = us(39),
       .efficiency = 0.9,
       .source = "efa-v2 less the 35 % that AWS states for p5en; not measured here"},
      {.name = "gpudirect-tcpxo",
       .hop_ll = us(52),
       .hop_simple = us(188),
       .efficiency = 0.93,
       .ll128_share = 0.35,
       .fitted = true,
       .source = "fitted: A3 Mega, whose table has LL128 at a third of the rate to 16 MiB"},
      {.name = "gpudirect-tcpx",
       .hop_ll = us(52),
       .hop_simple = us(188),
       .efficiency = 0.8,
       .source = "assumed as gpudirect-tcpxo; efficiency: TCP, NVIDIA GTC24 S62129 slide 12"},
      {.name = "sockets",
       .hop_ll = us(45),
       .hop_simple = us(127),
       .efficiency = 0.8,
       .reaches_gpu = false,
       .source = "assumed as software; efficiency: TCP, NVIDIA GTC24 S62129 slide 12"},
      {.name = "offloaded", .source = "the mean of adapters that reach memory themselves"},
      {.name = "software",
       .hop_ll = us(45),
       .hop_simple = us(127),
       .source = "the mean of EFA and GPUDirect-TCPXO"},
  }};
  return rows;
}

}  // namespace collbench

// Rates of the links in GPU servers, for topology files that name a part but not its rate.
//
// Nominal rates are those of the interface; the efficiency is the share that NCCL's own search
// counts on (NCCL 2.30.7, src/graph/topo.h), in GB/s per direction.
#pragma once

#include <string>

#include "topologies/machine.h"

namespace collbench {

/// One NVLink of a GPU of compute capability `sm` (80 for A100). lanes = how many there are.
LinkClass nvlink_class(int sm);

/// One xGMI link of an AMD GPU of this instruction set ("gfx942"; RCCL writes "908" for older
/// ones).
LinkClass xgmi_class(const std::string& gcn);

/// A PCIe link of `gigatransfers` per second and lane (8 for Gen3) and `width` lanes. Zero for
/// either means unknown, and then Gen3 or x16, as NCCL assumes.
LinkClass pcie_class(double gigatransfers, int width);

/// Between the CPUs of one node. Empty: unknown, 10 GB/s assumed.
LinkClass cpu_class(const std::string& arch, const std::string& vendor, int family, int model);

/// A network adapter's port of so many megabits per second; zero means 10 Gb/s, as in NCCL.
LinkClass port_class(double megabits, Seconds latency);

/// NCCL's protocols LL, LL128 and Simple: latency of a ring step inside and between nodes, bytes on
/// the wire per byte, and what a collective costs before its first step. With AMD's CPUs a message
/// keeps an adapter's proxy twice as long.
Costs nccl_costs(bool has_nvlink, bool has_amd_cpus);

}  // namespace collbench

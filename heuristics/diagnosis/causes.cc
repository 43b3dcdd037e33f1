#include "heuristics/diagnosis/causes.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr Cause cause_rows[] = {
    // Adapters.
    // A port, a PCIe link or a channel of half the rate leaves the same curve as a half of them.
    {"nic_missing", "a network adapter is missing, or it or its PCIe link is below its rate",
     "fewer adapters than the machine has carry the traffic, and the slowest holds up the others",
     "on each node: ibstat | grep -E 'State|Rate'; lspci -vv | grep LnkSta:  (and "
     "NCCL_DEBUG=INFO: 'NET/IB : Using')",
     "NVIDIA/nccl-tests issues 106 and 128, NVIDIA/nccl issue 307"},
    {"gdr_off", "GPUDirect RDMA is off: bytes go through the host's memory",
     "every byte crosses PCIe and the host's memory twice more, and every step takes longer",
     "on each node: lsmod | grep -E 'nvidia_peermem|gdrdrv'  (and NCCL_DEBUG=INFO: '/GDRDMA')",
     "NVIDIA/nccl issues 1412 and 465"},
    {"nic_affinity", "adapters are far from their GPUs",
     "traffic crosses the processors' interconnect or a virtual PCIe tree, 10 to 18 GB/s an "
     "adapter whatever its speed",
     "nvidia-smi topo -m  (adapters should be PIX or PXB to a GPU, not SYS)",
     "NVIDIA/nccl issue 412, NVIDIA/nccl-tests issue 256"},
    {"sockets", "NCCL uses TCP sockets in place of the network's own transport",
     "bytes pass the kernel of both hosts: the rate of TCP and several times the latency",
     "NCCL_DEBUG=INFO: 'Using network Socket' means that no plugin or verbs library was found",
     "NVIDIA/nccl issues 209 and 450"},
    // GPUs and their links.
    {"nvls_off", "NVLS is off: the NVLink switches do not add",
     "rings through NVLink carry 2(n-1)/n of the vector where the switches need one pass",
     "NCCL_DEBUG=INFO: 'NVLS multicast support is'; then systemctl status nvidia-fabricmanager "
     "and NCCL_NVLS_ENABLE",
     "NVIDIA/nccl issues 2140 and 1221"},
    {"host_staging", "GPUs of a node exchange through host memory, not peer to peer",
     "NVLink or PCIe between GPUs is unused: P2P is disabled, or ACS or the IOMMU redirects it",
     "nvidia-smi topo -p2p r  (and lspci -vvv | grep ACSCtl: every 'SrcValid' should be '-')",
     "NVIDIA/nccl-tests issue 112, NVIDIA/nccl issue 631"},
    {"wrong_mesh", "GPUs are joined by fewer links than the machine has",
     "the GPUs given to the job are not those that fast links join, or links are down: rings run "
     "over what is left",
     "nvidia-smi topo -m; nvidia-smi nvlink --status  (all pairs of the job NV#, all links up)",
     "inferred from the model"},
    {"throttled", "a GPU is throttled",
     "one GPU at a lower clock holds up every step of the others",
     "nvidia-smi --query-gpu=index,clocks_throttle_reasons.active,clocks.sm,temperature.gpu "
     "--format=csv",
     "Azure HPC blog on ND H100 v5: one of 16 GPUs, 5 times slower"},
    // What the library chooses.
    {"ll_at_large", "LL is used for large vectors",
     "LL sends 8 bytes of flags with 8 of data and no more than half of the bandwidth",
     "env | grep NCCL_PROTO  (and NCCL_DEBUG_SUBSYS=TUNING: 'proto LL' from 4 MiB on)",
     "NVIDIA/nccl issue 281"},
    {"switch_misplaced", "the library changes algorithm or protocol at the wrong size",
     "LL128 is lost, or a tuner plugin, NCCL_ALGO or NCCL_PROTO choose worse than the library",
     "env | grep -E 'NCCL_(ALGO|PROTO|TUNER|MIN|MAX)'  (and NCCL_DEBUG_SUBSYS=TUNING)",
     "NVIDIA/nccl issue 1261"},
    {"two_node_tree", "a tree on two nodes, which is not a fault",
     "two nodes exchange once in each direction, so that the bus bandwidth of a tree is up to "
     "twice what the adapters carry",
     "NCCL_ALGO=Ring  (run again to compare with the adapters' rate)",
     "NVIDIA/nccl issues 307 and 946, NVIDIA/nccl-tests issue 196", false},
    // The network.
    {"congestion", "flows collide in the network",
     "ECMP puts several flows on one link, or lossless flow control spreads pauses: pairs of nodes "
     "are fine and many are not",
     "run pairs of nodes, then all: if only all are slow, NCCL_IB_QPS_PER_CONNECTION=4 "
     "NCCL_IB_SPLIT_DATA_ON_QPS=1 or adaptive routing",
     "NVIDIA/nccl issue 1453"},
    {"step_cost", "every step through the network costs too much",
     "the time grows with the number of messages and not with the bytes: small chunks are slow "
     "while one large transfer reaches line rate",
     "ib_write_lat and ib_write_bw between two nodes  (the bandwidth is as it should be, the "
     "latency is not)",
     "NVIDIA/nccl issue 2409"},
    {"network_slow", "the network is slower than the machine should have",
     "large transfers lose in the same proportion",
     "ib_write_bw -d DEVICE --report_gbits between each two nodes", "inferred from the model"},
    {"network_error", "transfers through the network failed",
     "a connection broke, or the rank at its other end is gone: what waits for it does not end",
     "on the host that is named: dmesg | grep -iE 'mlx5|link'; ibstat  (and whether the peer still "
     "runs)",
     "NVIDIA/nccl, src/transport/net_ib"},
    {"unexplained", "the system is far slower than the machine should be, and no known fault fits",
     "the times are far from what the machine should take, and none of the other causes has "
     "such a curve",
     "collbench topo show  (is it this machine?); then a table of one node, of two, and of this "
     "system when it was well (--healthy)",
     "inferred from the model"},
    // Ranks.
    {"straggler", "a rank is late",
     "an all-reduce ends after its last rank arrives: the others wait, equally long at every size",
     "nccl-tests with -I 1, or collbench logs on NCCL Inspector's files: the rank that never waits "
     "is late",
     "inferred from the model"},
    {"hang", "ranks wait in a collective that does not end",
     "the job stands still until its time limit ends it",
     "py-spy dump --pid PID  (of the ranks that are named, else of all: where each stands)",
     "PyTorch, torch/distributed/flight_recorder"},
    {"ended_early", "the program ended in a collective",
     "a rank that did not come to it called MPI_Abort, exited or crashed, which ended the others",
     "what that rank wrote last; its core dump: coredumpctl gdb PID", "MPI 4.1, section 9.4.2"},
    // The host.
    {"cpu_governor", "the processor saves power", "its clock changes while measuring",
     "cpupower frequency-set -g performance", "collbench doctor"},
    {"cpu_busy", "others use this machine", "their work delays ranks at random",
     "top -b -n 1 | head -20", "collbench doctor"},
    {"cpu_stolen", "the hypervisor takes time away", "ranks stand still without knowing",
     "vmstat 1 5  (the column st)", "collbench doctor"},
    {"cpu_quota", "the container has a quota of CPU time",
     "it is paused when the quota of a period is used up", "cat /sys/fs/cgroup/cpu.max",
     "collbench doctor"},
    {"debug_build", "this collbench is a debug build", "its figures mean nothing",
     "cmake --preset release && cmake --build --preset release", "collbench doctor"},
};

}  // namespace

std::span<const Cause> causes() { return cause_rows; }

const Cause& cause(std::string_view name) { return find_row("cause", name, cause_rows); }

std::string how_sure(const FoundCause& found) {
  return found.sure >= 1 ? "certain" : fmt::format("{:.0f} %", 100 * found.sure);
}

std::string describe(const FoundCause& found) {
  const Cause& cause = *found.cause;
  return fmt::format("{} ({}, {})\n    seen:  {}\n    means: {}\n    check: {}\n", cause.title,
                     cause.name, how_sure(found), found.seen, cause.means, found.next());
}

std::string describe_markdown(const FoundCause& found) {
  const Cause& cause = *found.cause;
  return fmt::format("- **{}** (`{}`, {})\n  - seen: {}\n  - means: {}\n  - check: `{}`\n",
                     cause.title, cause.name, how_sure(found), found.seen, cause.means,
                     found.next());
}

std::string cause_json(const FoundCause& found) {
  // What was seen may be a name out of a log, in any encoding.
  const Cause& cause = *found.cause;
  return json_text(nlohmann::ordered_json{{"cause", cause.name},
                                          {"title", cause.title},
                                          {"seen", found.seen},
                                          {"means", cause.means},
                                          {"check", found.next()},
                                          {"sure", found.sure},
                                          {"fault", cause.fault}});
}

}  // namespace collbench

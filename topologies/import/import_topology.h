// Machines from the topology files of other tools, so that existing descriptions can be used.
//
// Every importer takes the text and its name ("cluster.xml"), which begins its messages as
// FILE:LINE and is recorded in Machine::source. What a format does not contain (the generation of
// an NVLink, the rate of a cache) is taken from the sources named in topologies/import/rates.h, and
// the source of such links states it. All throw InvalidArgument; none reads another file. Pure, so
// safe on threads.
#pragma once

#include <string>
#include <string_view>

#include "topologies/machine.h"

namespace collbench {

enum class TopologyFormat { automatic, toml, simgrid, nccl, nvidia_smi, astra, hwloc, edges };

/// By its name on the command line: "auto", "toml", "simgrid", "nccl", "nvidia-smi", "astra",
/// "hwloc", "edges". Throws InvalidArgument with the nearest name.
TopologyFormat topology_format(const std::string& name);

/// The format that `text` is written in, by what it begins with and the keys it has, never by the
/// name of the file. Throws InvalidArgument, naming what was looked for, if it is none.
TopologyFormat detect_topology_format(std::string_view text, const std::string& file);

/// Reads `text` in `format`.
Machine import_topology(std::string_view text, const std::string& file,
                        TopologyFormat format = TopologyFormat::automatic);
/// The same from a file. Throws Unavailable if it cannot be read, and InvalidArgument if it exceeds
/// 64 MiB.
Machine import_topology_file(const std::string& path,
                             TopologyFormat format = TopologyFormat::automatic);

/// SimGrid's platform XML, DTD 4.1 of SimGrid 3.32: zones with Full, Floyd, Dijkstra and Cluster
/// routing, zoneRoutes, clusters (FLAT, TORUS, FAT_TREE, DRAGONFLY), cabinets. Hosts in the order
/// of the file, rates as written: the factors of SimGrid's models are not applied. A SHARED link is
/// one link for both directions; of a FATPIPE link each pair of hosts has its own.
Machine from_simgrid_xml(std::string_view text, const std::string& file);

/// The XML of NCCL_TOPO_DUMP_FILE: one node, GPUs as hosts in the order of their ranks. As in NCCL
/// all NVSwitches are one. Adapters are leaves: what lies between nodes is not in the file.
Machine from_nccl_xml(std::string_view text, const std::string& file);

/// The matrix of `nvidia-smi topo -m`. Generations are not in it: NVLinks count as 25 GB/s each, as
/// NVLink 2 to 4 have, PCIe as Gen3 x16. NV counts that exceed what a GPU has mean an NVSwitch.
Machine from_nvidia_smi(std::string_view text, const std::string& file);

/// ASTRA-sim's analytical network YAML: the product of rings, switches and full connections, first
/// dimension innermost. Bandwidth in ASTRA-sim's GB of 2^30 bytes per second and direction of a
/// link, latency in ns per link (a switch is two). Routes go dimension by dimension.
Machine from_astra_yaml(std::string_view text, const std::string& file);

/// hwloc's XML (`lstopo --of xml`), versions 1 and 2: GPUs as hosts where there are any, otherwise
/// cores, below caches, NUMA nodes and PCI bridges.
Machine from_hwloc_xml(std::string_view text, const std::string& file);

/// A list of directed links, `from,to,bandwidth_GBps,kind`, one a line: "g3" is rank 3, names that
/// begin with s are switches, links of one kind side by side add up, "# ..." before them says what
/// it is. Links have no latency (Topology::with_latency()). Of several shortest and widest routes
/// ranks take different ones in turn.
Machine from_edge_list(std::string_view text, const std::string& file);

}  // namespace collbench

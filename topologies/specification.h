// Machines from text, as they are named on the command line.
//
//   star:8,100Gbps,5us            hosts on a switch          full:8,64GBps,1us   a cable per pair
//   torus:4x4x4,50GBps,1us        all axes closed            mesh:4x4,50GBps,1us  none
//   torus:8x16:wrap=0x1,50GBps,1us   only the second axis closed
//   fat-tree:4x4:1x4:1x2,100Gbps,1us children, parents and cables per level, from the hosts up
//   dragonfly:3x4x5x2:1x1x1,200Gbps,1us  groups, chassis, routers, hosts; lanes blue, black, green
//   cluster:8xdgx-h100            nodes joined by their own adapters; cluster:4xmi300x,400Gbps,5us
//                                 gives every host one, or as many per node as ,adapters=4 says;
//                                 ,rails joins equal adapters of all nodes by a switch of their
//                                 own; ,network=roce says which family (topologies/gpus.h) they are
//                                 of
//   dgx-h100, tpu-v5e:4x4, ethernet-100g:16   shipped machines, with their size where they have one
//   p5.48xlarge, BM.GPU.H100.8     what a cloud calls an instance that is shipped
//   path/to/machine.toml          a file; docs/topologies.md has its keys
//   path/to/platform.xml          a file of another tool, as import_topology.h reads them
//   net.csv,latency=2us           of one that says no latencies (a list of links), with that of all
//
// A composition ends in bandwidth per direction and latency of a link, and may add ,efficiency=0.9.
#pragma once

#include <string>
#include <vector>

#include "topologies/machine.h"

namespace collbench {

/// The machine that `spec` names, with `spec` as its topology's name. Star, full, cluster and
/// machines that come in any size may leave out their size and then get one that seats `workers`
/// ranks. A machine may have more hosts than workers, but not less. Throws InvalidArgument, with
/// the nearest name or what would be right, and Unavailable for a file that cannot be read.
Machine machine(const std::string& spec, int workers = 0);

/// A shipped machine, topologies/*.toml.
struct ShippedMachine {
  std::string name;  // "dgx-h100"
  std::string summary;
  std::string source;
};
/// All of them by name.
std::vector<ShippedMachine> shipped_machines();

}  // namespace collbench

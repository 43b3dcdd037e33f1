// A machine with a fault: NCCL's description of it, changed, and how long the library takes there.
#pragma once

#include "heuristics/nccl/library_times.h"

namespace collbench {

/// The machine that the library believes to run on, which chooses, and the one that it runs on,
/// which takes the time. They differ by what the library cannot know.
struct PlayedOn {
  NcclInputs believed;
  NcclInputs real;
  LibraryQuestion question;
};
/// Throws InvalidArgument if the library has no such play there.
Seconds time_on(const PlayedOn& on, Bytes bytes);

/// What that protocol reaches of the rate of the library's own choice; 1 where it cannot play.
double share_of_protocol(const PlayedOn& on, NcclProtocol protocol, Bytes bytes);

/// A share of the rate that falls with the size.
struct FallingRate {
  double from_MiB;
  double power;
  double least;
  double at(Bytes bytes) const;
};

/// All adapters of a node reach that share of what they did.
void scale_network(NcclInputs& in, double share);
/// The links between the GPUs of a node, and the switches that add, do.
void scale_gpus(NcclInputs& in, double share);
/// Every way from a node to another takes longer.
void lengthen_hops(NcclInputs& in, Seconds added);
/// Adapters reach the GPUs through the processor, which LL128 does not survive.
void lengthen_path(NcclInputs& in);
/// TCP carries what adapters did, at that rate of a node in GB/s; hops take so long at least.
void use_sockets(NcclInputs& in, double rate, Seconds hop);
/// Switches of the node do not add.
void remove_nvls(NcclInputs& in);

}  // namespace collbench

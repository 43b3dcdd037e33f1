// What the algorithms that others measured play: the names of Open MPI, MPICH, Cray, Fujitsu, pico
// and its NCCL runs, and our own, mapped to forms whose rounds are known.
//
// Two names of one form cost the same on the same network, so that measurements of one say what the
// other costs. A form is a schedule of the registry where we have one (registry_row()), from which
// its rounds are read, else a closed form (heuristics/structure/message_rounds.h).
// Names that are not known have no form, which callers must say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

/// What joins the ranks: switches between nodes of one rank, a torus of nodes whose ports are
/// driven one by one, switches between nodes of several GPUs, or one host whose cores they share:
/// its memory, messages over its loopback, or a library's messages through its memory, whose ranks
/// give their core away while they wait, or do not.
enum class Interconnect : std::uint8_t {
  switched,
  torus,
  gpu_nodes,
  host_memory,
  host_messages,
  host_library,
  host_busy_library
};

enum class PlayedForm : std::uint8_t {
  doubling,        // the whole vector to a partner in each of log2(n) rounds
  halving,         // reduce-scatter by halves, all-gather by doubling
  blocks,          // the same, halves as separate blocks of n/p
  ring,            // 2 (p - 1) rounds of n/p
  tree,            // reduce to one rank and broadcast, by trees
  linear,          // one rank adds all
  port_halving,    // halving, a piece of the vector for each port of a torus
  port_doubling,   // doubling, likewise
  port_ring,       // reduce-scatter and all-gather by a ring along each axis
  axis_trees,      // pipelined trees along the axes
  node_ring,       // NCCL's ring over the GPUs of all nodes
  node_tree,       // NCCL's double tree
  node_fastest,    // NCCL's choice of these two
  node_halving,    // halves inside a node, then halving between the nodes
  node_doubling,   // halves inside a node, then doubling between the nodes
  schedule,        // ours, read as it is
  ompi_choice,     // Open MPI's fixed rules choose (heuristics/structure/ompi_decision.h)
  library_choice,  // another library chooses by rules that are not known
};

/// Forms that share what the model misses: those of one family deviate alike.
enum class PlayedFamily : std::uint8_t {
  latency,
  halving,
  segmented,
  ring,
  tree,
  schedule,
  choice
};

struct PlayedMethod {
  PlayedForm form = PlayedForm::ring;
  Interconnect interconnect = Interconnect::switched;
  bool bine = false;                // partners at the distances 1, 1, 3, 5, 11 ... of Bine trees
  int ports = 1;                    // of a torus, driven at once, each with its piece of the vector
  double segment = 0;               // bytes that a message is cut into; 0: not cut
  bool segment_is_a_chunk = false;  // segments of n/p
  /// The library has no such algorithm there and plays another: which one changes with the scale,
  /// so a name that exists is preferred to it.
  bool falls_back = false;
  std::string spec;  // of a `schedule`, with its options
};

/// Lower case, with one sign between words.
std::string normalized_name(std::string_view name);

/// What a method plays at a scale; nothing if its name is not known, or if the scale is none that
/// the forms are of: several nodes, of one rank each or, for forms of GPUs, of several; or one host
/// whose cores are known, for schedules of ours over "shm" and "grpc" and for MPI's own.
std::optional<PlayedMethod> played_method(const MethodKey& method, const Scale& scale);

PlayedFamily family_of(const PlayedMethod& played);

/// The row of the registry that plays the form's rounds, over ranks or, of forms that drive ports,
/// over axes (`:dims=` and `:streams=`); empty: there is none.
std::string_view registry_row(const PlayedMethod& played);

/// What a vector of `bytes` really is played with: Open MPI's choice by its rules, rings of fewer
/// elements than ranks by doubling. The same for all else.
PlayedMethod played_for(const PlayedMethod& played, int ranks, double bytes, double element_bytes);

/// A request that the library answers with another schedule at this size.
bool is_replaced(const PlayedMethod& played, int ranks, double bytes, double element_bytes);

/// The axes of a torus of `scale`: those stated, else three that are as equal as its nodes allow.
std::vector<int> torus_axes(const Scale& scale);

}  // namespace collbench

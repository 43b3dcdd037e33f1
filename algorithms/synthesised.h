// `synth`: the schedule made for one network, as an algorithm among others.
//
// What makes it knows networks and so is above this folder; it is handed down once, at the start of
// a program (heuristics/synthesis/synthesise.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.h"

namespace collbench {

struct SynthesisRequest {
  std::string network;  // as machine() of topologies/specification.h reads it
  int ranks = 0;
  Bytes bytes;  // of the vector: how finely it is cut
  CollectiveKind kind = CollectiveKind::all_reduce;
  int tracks = 0;  // algorithms/schedule.h; 0: as many as suit a machine that plays each by itself
  std::vector<std::pair<Rank, Seconds>> late{};  // of an all-reduce: ranks that join so much later
  bool chooses_routes = true;  // where the network names none; real ranks take what theirs has
  bool takes_known = true;     // what the registry plays faster than trees
};

/// A schedule, and what it is thought to take with the protocol that suits it, without the
/// machine's cost of a collective.
struct SynthesisedSchedule {
  Schedule schedule;
  Seconds expected{0};
};
/// Makes the schedule of a request. Throws InvalidArgument for networks that do not fit.
using Synthesiser = SynthesisedSchedule (*)(const SynthesisRequest& request);
/// Not to be called while schedules are made.
void set_synthesiser(Synthesiser synthesiser);
bool has_synthesiser();

/// The row of `synth`, whose option `topo` names the network; simulations and choices set it to
/// theirs. It is in no list of all algorithms, as it needs a network.
const AlgorithmInfo& synthesised_row();

/// `spec` as real ranks should play it, which do in a round what all tracks have in it and cannot
/// choose routes: if it is `synth` and does not say otherwise, with one track and one route for
/// each pair.
AlgorithmSpec for_ranks_in_step(AlgorithmSpec spec);

/// `spec` as it is priced beside all others: if it is `synth`, without what those play.
AlgorithmSpec with_trees_only(AlgorithmSpec spec);

/// What `spec` asks for. Throws InvalidArgument if no network is named, or for a collective with a
/// root.
SynthesisRequest synthesis_request(const AlgorithmSpec& spec, int ranks, Bytes bytes,
                                   CollectiveKind kind);

/// Throws InvalidArgument as synthesis_request(); Unavailable in a program without a synthesiser.
SynthesisedSchedule synthesised(const AlgorithmSpec& spec, int ranks, Bytes bytes,
                                CollectiveKind kind);

}  // namespace collbench

// Synthesised schedules: from a network to its certificate, trees and schedule.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "algorithms/schedule.h"
#include "core/units.h"
#include "heuristics/synthesis/certificate.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/step_search.h"
#include "heuristics/synthesis/tree_packing.h"
#include "topologies/machine.h"

namespace collbench {

/// Ranks, and how much later than the others each joins.
using Delays = std::vector<std::pair<Rank, Seconds>>;
/// What a schedule of a vector of `bytes` takes on a machine from when the first ranks join until
/// all have the result.
using PlayLate = std::function<Seconds(const Schedule& schedule, const Machine& machine,
                                       const Delays& delays, Bytes bytes)>;

/// A schedule of the registry that is faster than trees for a vector of some size.
struct KnownSchedule {
  std::string algorithm;
  Schedule schedule;
  Seconds time{0};   // that it takes
  Seconds trees{0};  // that they take
};

/// What is made once for a network and serves every size, but for `steps` and `known`.
struct SynthesisedPlan {
  Certificate certificate;
  TreePacking packing;
  TreePacking whole{};  // as pack_trees() has it, as `fewer`
  std::vector<TreePacking> fewer{};
  std::optional<StepSearch> steps{};  // what a solver was asked for besides, and
  bool plays_steps = false;           // whether it is faster than all else
  std::optional<KnownSchedule> known{};
  MessageLadder messages{};             // what decides which of the trees small vectors play
  Ways ways{};                          // that messages are spread over, if routes are chosen;
  double one_way_seconds_per_byte = 0;  // what trees take with one route for each pair then
  double least_by_any_ways = 0;         // what no trees take less than if none help; 0: not known
  int tracks = 0;                       // found by playing; 0: what suits
  /// The network as its messages are to be routed.
  Topology network() const;
  /// What a schedule of a large vector plays.
  const TreePacking& played() const { return whole.trees.empty() ? packing : whole; }
  /// What is played and not of trees; null if they are.
  const Schedule* instead() const;
  /// Time of the bound over that of trees of the plan, at most 1.
  double share(const TreePacking& trees) const;
  double share() const { return share(packing); }
};

/// Where routes are free and one for each pair of ranks keeps trees from the bound, ways are chosen
/// as well. Throws InvalidArgument as certify() and pack_trees() do, and where a link is more than
/// 100,000 times as fast as another. `equal_trees`: for formats that know chunks of one size only,
/// the most trees that they have room for; 0 for others.
SynthesisedPlan synthesise(const Topology& topology, CollectiveKind goal, int equal_trees = 0);

/// The same by trees of the fewest hops, one of each root that is needed, whatever the links carry:
/// for vectors so small that only latency counts.
SynthesisedPlan synthesise_shallow(const Topology& topology, CollectiveKind goal);

/// What a schedule of the plan's network takes for the vector that is asked about.
using TimeOf = std::function<Seconds(const Schedule&)>;
/// Asks for steps as well, and has the plan play them where they are faster than its trees for a
/// vector of `bytes`, as `time_of` has it; for 0 bytes where they are fewer than its hops, or as
/// many and take less time a byte. Requires and throws as search_steps().
void add_steps(SynthesisedPlan& plan, Bytes bytes, const AskSolver& ask, const TimeOf& time_of);

/// Has the plan play a schedule of the registry for a vector of `bytes` where one that leaves equal
/// bits on all ranks is faster than its trees, as `time_of` has it: not where the trees are within
/// 5 % of the bound or have more than 300,000 messages, and none of more than 30,000. `tracks` as
/// pipelining_for() has it.
void add_known(SynthesisedPlan& plan, Bytes bytes, int tracks, const TimeOf& time_of);

/// What messages cost on a machine beyond its links, by each of its protocols.
MessageLadder message_ladder(const Costs& costs);

/// Of the plan's packings the one that a vector of `bytes` plays, as pipelining_for() expects it to
/// be fastest.
struct Playing {
  const TreePacking* packing;
  Pipelining pipelining;
};
Playing playing(const SynthesisedPlan& plan, Bytes bytes, int tracks = 0);

/// The plan as a schedule for a vector of `bytes`, which is not proved here. `tracks` as
/// pipelining_for() has it.
Schedule to_schedule(const SynthesisedPlan& plan, Bytes bytes, int tracks = 0);

/// Makes `synth` an algorithm of this program (algorithms/synthesised.h). Plans are kept by the
/// name of their network. `play` chooses among schedules for late ranks, and between trees and
/// schedules of the registry; without it late ranks have what synthesise_late() makes, and all
/// others trees. Call it once, before threads make schedules.
void offer_synthesis(PlayLate play = {});

/// The network of a simulation as `synth` wants its messages routed if that is what `spec` names;
/// otherwise, and where its routes are not free, unchanged. Requires and throws as synthesised().
Topology routed_for(const AlgorithmSpec& spec, const Topology& topology, Bytes bytes,
                    CollectiveKind kind);

/// Lets a topology be found by its name when `synth` asks for it; otherwise the name is read as a
/// specification. Thread safety: any number of threads.
void remember_network(const Topology& topology);
/// The same with the machine's costs of a message, by which schedules are then cut.
void remember_machine(const Machine& machine);

}  // namespace collbench

// Synthesised plans for users: what was made, what it reaches, what a fault would cost.
#pragma once

#include <string>

#include "algorithms/exchange/msccl_xml.h"
#include "core/units.h"
#include "heuristics/synthesis/late_plan.h"
#include "heuristics/synthesis/synthesise.h"

namespace collbench {

/// What can be said beside a plan, if asked for.
struct BesidePlan {
  const Certificate* whole = nullptr;  // of the network before it was degraded
  const LatePlan* late = nullptr;
  bool dead_links = false;
  Bytes bytes{1 << 30};  // of the vector that is played
};

/// The certificate's JSON with, unless null, what the plan reaches.
std::string to_json(const Certificate& certificate, const SynthesisedPlan* plan,
                    const BesidePlan& beside = {});
/// Trees, depth, the share of the bound reached, and the schedule's size.
std::string plan_text(const SynthesisedPlan& plan, Bytes bytes);
/// How much slower `now` is than the whole network.
std::string loss_text(const Certificate& now, const Certificate& whole);

/// What the loss of one cable costs at worst, by bounds.
struct DeadLink {
  bool is_known = false;  // not where there are more than 512 cables
  double times = 0;       // of the whole network's time; 0 if every cable cuts ranks off
  std::string name;
  int apart = 0;  // cables without which ranks are cut off
  std::string first_apart;
};
DeadLink dead_link(const Certificate& certificate);
std::string to_text(const DeadLink& dead);

/// to_schedule(), proved by the verifier. Throws Error with the first violation, which would be a
/// fault of ours.
Schedule proved_schedule(const SynthesisedPlan& plan, Bytes bytes);
/// Whether that proof is of one piece of every tree, as all would be more than 20 million messages.
/// The pieces of a tree do the same in other rounds, on chunks of their own.
bool proof_is_reduced(const SynthesisedPlan& plan, const Schedule& schedule);

/// The plan as MSCCL XML, proved. Each tree is cut into as many pieces as the runtimes have room
/// for, 16 at most and no more than suit a vector of `bytes`; into one where that does not fit
/// either.
struct MscclExport {
  std::string xml;
  MscclSize size{};
};
MscclExport to_msccl_export(const SynthesisedPlan& plan, Bytes bytes);

/// The plan as an execution plan of MSCCL++, proved, with as many pieces as its thread blocks have
/// room for. Throws as to_mscclpp_json() does. `plan` has equal pieces.
std::string to_mscclpp_json(const SynthesisedPlan& plan);

/// Graphviz: the hops of the trees, as wide as the share of the vector that takes them, one colour
/// for each of the seven trees that carry most.
std::string trees_to_dot(const SynthesisedPlan& plan);

}  // namespace collbench

// Synthesised plans for users: what was made, what it reaches, what a fault would cost.
#pragma once

#include <string>

#include "core/units.h"
#include "heuristics/synthesis/synthesise.h"

namespace collbench {

/// The certificate's JSON with, unless null, what the plan reaches.
std::string to_json(const Certificate& certificate, const SynthesisedPlan* plan);
/// Trees, depth, the share of the bound reached, and the schedule's size.
std::string plan_text(const SynthesisedPlan& plan, Bytes bytes);
/// How much slower `now` is than the whole network.
std::string loss_text(const Certificate& now, const Certificate& whole);
/// The cable whose loss costs most, by bounds. Looks at every cable; where there are more than 512
/// of them it says that it does not.
std::string dead_link_text(const Certificate& certificate);

/// to_schedule(), proved by the verifier. Throws Error with the first violation, which would be a
/// fault of ours.
Schedule proved_schedule(const SynthesisedPlan& plan, Bytes bytes);
/// Whether that proof is of one piece of every tree, as all would be more than 20 million messages.
/// The pieces of a tree do the same in other rounds, on chunks of their own.
bool proof_is_reduced(const SynthesisedPlan& plan, const Schedule& schedule);

/// Graphviz: the hops of the trees, as wide as the share of the vector that takes them, one colour
/// for each of the seven trees that carry most.
std::string trees_to_dot(const SynthesisedPlan& plan);

}  // namespace collbench

// Schedules of few steps for small networks, found by a solver of satisfiability.
//
// In a step every rank passes on what it had before. A link has as many lanes as the rate of the
// slowest one goes into its own, and carries at most that many chunks for each round of the step.
// A point is how many chunks the share of a rank is cut into, steps, and rounds of all steps; it
// takes
//
//   steps * latency + rounds * share / (chunks * rate of a lane).
//
// Whether a network has a schedule at a point is a question of yes or no; the solver is asked about
// the cheapest first, so the first that exists is the best, unless a cheaper one was left open.
// A reduce-scatter is the all-gather turned round, an all-reduce both.
// Source: Cai et al., Synthesizing Optimal Collective Algorithms (SCCL), PPoPP 2021.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"
#include "core/units.h"
#include "topologies/topology.h"

namespace collbench {

struct StepPoint {
  int chunks = 1;
  int steps = 1;
  int rounds = 1;
  bool operator==(const StepPoint&) const = default;
};

/// Points are asked about up to so many rounds more than the bound asks of as many chunks, or than
/// they have steps if those are more.
inline constexpr int most_more_rounds = 8;

/// Gives the solver a question in SMT-LIB and returns what it prints: "sat" and a model, "unsat",
/// "unknown" or "timeout".
using AskSolver = std::function<std::string(const std::string& question)>;

struct StepSearch {
  StepPoint point;                   // of the all-gather
  std::optional<Schedule> schedule;  // of what was asked for; none if no point was found
  Seconds time{0};                   // by the formula, of all of it
  double seconds_per_byte = 0;       // its part that grows with the vector
  int left_open = 0;                 // cheaper points about which the solver said nothing
  int refuted = 0;                   // and those that do not exist
};

/// Why points of a network are not looked for; empty if they are. Few ranks, since questions grow
/// fast; for collectives that add, links that are alike in both directions.
std::string no_steps_because(const Topology& topology, CollectiveKind goal);

/// The cheapest point for a vector of `bytes` among those of at most 6 chunks that take less than
/// `limit`; for 0 bytes the one of fewest steps, and of those of the least time a byte. Requires
/// no_steps_because() to be empty. Throws Error if the solver's answer is none, or its model no
/// schedule.
StepSearch search_steps(const Topology& topology, CollectiveKind goal, Bytes bytes, Seconds limit,
                        const AskSolver& ask);

}  // namespace collbench

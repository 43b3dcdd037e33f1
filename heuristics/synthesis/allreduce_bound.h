// The best all-reduce of a network by a reduce tree and a broadcast tree with the same root: how
// much every rank roots, and how every link is shared between the two.
//
// Roots take shares x of the vector, and every arc of capacity b splits into what reductions use
// and what broadcasts use. Trees for these shares exist if no set of vertices that misses a rank
// holds more shares than leave it in the broadcast's part (Edmonds 1973), and the mirror of that
// for the reduction:
//
//   maximise sum x   with   x(S) <= broadcast leaving S,  x(S) <= reduce entering S,
//                           broadcast + reduce <= b on every arc,
//
// and at a switch, which does not copy or add, no more broadcast leaves than enters, and no more
// reduction enters than leaves. T / M = 1 / sum x. Solved by cutting planes: minimum cuts find the
// sets that an answer breaks. On networks whose links are alike in both directions the reduction is
// the broadcast turned round, which halves the program.
//
// Reduce-scatter followed by all-gather is the same with equal x, and loses where ranks differ.
#pragma once

#include <vector>

#include "heuristics/synthesis/bound.h"

namespace collbench {

/// Shares are in the graph's units; `broadcast` and `reduce` by arc.
struct AllreduceShares {
  double total = 0;
  std::vector<double> root;
  std::vector<double> broadcast;
  std::vector<double> reduce;
};

/// The optimum to about 1e-9. Requires and throws as all_gather_bound().
AllreduceShares best_allreduce_shares(const CapacityGraph& graph);

/// Its time, proven by the cut of weakest_allreduce_bound() or by groups that have to pass each
/// other 2 (groups - 1) vectors (gossip in one direction at a time) where either does, as always
/// where ranks are joined by cables alike in both directions (graph_strength.h); otherwise it is
/// the simplest rational number within 1e-9 of the optimum, with neither. Beyond 256 ranks what
/// cuts and groups prove, which may then be less than the optimum.
ThroughputBound allreduce_bound(const CapacityGraph& graph);
/// The same where weakest_allreduce_bound() and two_halves_bound() are known already.
ThroughputBound allreduce_bound(const CapacityGraph& graph, const ThroughputBound& weakest,
                                const Fraction& halves);

/// Reduce-scatter and then all-gather.
Fraction two_halves_bound(const CapacityGraph& graph);

}  // namespace collbench

// How the time of an all-reduce grows with its size and scale where it is not known what is played,
// or on one node: a sum of terms that each have a cause, with one cost each, fitted to
// measurements. What is known is priced by its rounds instead (heuristics/structure/).
//
// With N nodes of p ranks, R = N p, and s bytes per rank:
//
//   start + node latency (p-1) + network latency log2 N + ring latency (N-1)
//     + s [ 2(p-1)/p / node rate  +  2(R-1)/R / network rate (N > 1) ]
//     + s (N > 2) x through   + s log2 N x whole   + s (p-1) x memory   + sqrt(s) chunks
//     + s / (1 + (s / 32 KiB)^3) log2 N x handed on
//
// The ring's latency is that of rings, and of libraries on hosts. Where NCCL chooses it takes trees
// rather than go round many nodes, so that nothing grows faster than the rounds of a tree; what
// nodes then pass on is not seen on two nodes, each the child of the other in one of two trees, and
// is expected to be another crossing of the adapters where nothing larger was measured. `through`:
// nodes with two neighbours pass on what two nodes alone exchange directly; `whole`: algorithms
// that send the whole vector in every round; `memory`: ranks that share the memory of a node;
// `chunks`: a vector is cut into more pieces the longer it is, (1 + log2 R)/2 of them at once;
// `handed on`: the trees of NCCL's LL, each level of which waits for a whole chunk, while longer
// vectors follow in pieces and leave LL (0 for rings and hosts).
//
// Costs are positive, so they are fitted as logarithms, to logarithms of times: a fit of relative
// errors. Each has a prior, a value and how many times it may be off, which decides what the data
// leave open (one scale says nothing about another); a prior off by
// one deviation counts as much as errors of 2 % at every point of a curve. Errors count as soft L1
// beyond 50 %, so a disturbed table does not bend the rest.
#pragma once

#include <array>
#include <span>

#include "heuristics/measurement.h"

namespace collbench {

inline constexpr std::size_t trend_terms = 11;
using TermValues = std::array<double, trend_terms>;

/// What the costs are multiplied by. Nodes that are not known count as one. Without `goes_round`
/// nothing grows with the number of nodes itself.
TermValues trend_basis(const Scale& scale, double bytes, bool goes_round = true);

/// Natural logarithms of the expected costs in microseconds, and their standard deviations.
struct Prior {
  TermValues mean{};
  TermValues deviation{};
  bool goes_round = true;  // as for trend_basis()
};
/// By what is known without measuring: kernels of GPUs (constants of NCCL's tuner) or programs on
/// hosts; the algorithm's name says whether it is a ring (steps from node to node).
Prior prior_for(const MethodKey& method);

class Trend {
 public:
  Trend() = default;
  /// Rows of one method; only scale, bytes and time count, each as much as its entry of `trust`
  /// (1: fully), which may be empty: all alike.
  Trend(std::span<const MeasuredTime> rows, Prior prior, std::span<const double> trust = {});

  /// Natural logarithm of seconds.
  double log_time(const Scale& scale, double bytes) const;
  /// The term's share of the time, in seconds.
  TermValues terms(const Scale& scale, double bytes) const;
  /// Costs in microseconds, and the factor that each may be off (one standard deviation).
  const TermValues& costs() const { return costs_; }
  const TermValues& factors() const { return factors_; }

 private:
  TermValues costs_{};
  TermValues factors_{};
  bool goes_round_ = true;
};

}  // namespace collbench

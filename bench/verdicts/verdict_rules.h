// The rules that turn estimates into outcomes.
//
// Stored records are decided at once: Holm over all timed cases at `alpha`. An interleaved run
// (bench/verdicts/ab.h) has two stages: a case that looks different after the screening rounds is
// measured afresh, and only the fresh rounds decide, in a few looks that share `alpha` between
// them. So neither a lucky round nor effects that vary with a process's memory layout make a
// verdict.
#pragma once

#include <span>
#include <vector>

#include "bench/verdicts/verdict.h"

namespace collbench {

/// Whether the i-th rounds of base and head were measured side by side.
enum class Order : bool { apart, in_turn };

/// The ratio of two samples of times (> 0) with its 95 % interval and the chances against
/// `threshold`. Requires a time on each side.
///
/// In turn, rounds are also compared pair by pair (Wilcoxon), which drift that is slower than a
/// round cannot disturb, while all against all (Mann-Whitney) tells more where rounds are
/// independent. The better of both is taken and its chance doubled, for having looked twice.
/// `base_ns` may hold base twice or more: all its rounds, then all rounds again.
RatioEstimate estimate_ratio(std::span<const double> base_ns, std::span<const double> head_ns,
                             double threshold, Order order = Order::apart);

/// Whether screening rounds ask for fresh ones: the ratio leans a third of the threshold or more to
/// one side, with a one-sided chance below 20 % if nothing differed.
bool is_suspect(std::span<const double> base_ns, std::span<const double> head_ns, double threshold,
                Order order);

/// Rounds per arm after which an interval that shrinks with their root would lie within the
/// threshold or beyond it; 0 if the ratio is too near the threshold to tell (more than 10,000).
int rounds_needed(const RatioEstimate& estimate, double threshold);

/// Decides timed cases that have a ratio and no outcome by the ratio alone, Holm over all of them.
void decide_at_once(std::vector<Verdict>& verdicts, const GateRule& rule);

/// The looks at confirming rounds: after how many each, the last being `most`.
std::vector<int> confirming_looks(int most);

/// Which of the suspects' fresh estimates show a change at one of `looks` looks: Holm over all
/// suspects at alpha / looks. In the order given: slower, faster or inconclusive.
std::vector<VerdictOutcome> confirmed(std::span<const RatioEstimate> fresh, const GateRule& rule,
                                      int looks);

/// Whether further rounds are of no use: the fresh rounds lean the other way, or hardly at all.
bool is_cleared(const RatioEstimate& fresh, double threshold);

/// Sets outcome, reason and rounds_needed of a timed verdict that no test rejected: `same` if an
/// interval lies within the threshold, else `inconclusive`.
void settle(Verdict& verdict, const GateRule& rule);

/// Sets a confirmed outcome with its reason, unless base against itself differs as much.
void accept(Verdict& verdict, VerdictOutcome outcome, const GateRule& rule);

}  // namespace collbench

// The rules that turn estimates into outcomes.
//
// Stored records are decided at once: Holm over all timed cases at `alpha`. A sequential run
// (bench/verdicts/ab.h) looks at its rounds several times and spends `alpha`, and the 5 % of its
// intervals, with the square of the budget used (Kim and DeMets' spending function with exponent
// 2): since the shares add up to one, all looks together are wrong no more often than one would be,
// and more than half is left for the last look, at the cases that are hard to decide. A run with
// fixed rounds has two stages: a case that looks different after the screening rounds is measured
// afresh, and only the fresh rounds decide, in a few looks that share `alpha` between them; without
// fresh rounds, those of screening are decided at once. So with fresh rounds neither a lucky round
// nor effects that vary with a process's memory layout make a verdict.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/verdicts/verdict.h"

namespace collbench {

/// Whether the i-th rounds of base and head were measured side by side.
enum class Order : bool { apart, in_turn };

/// The interval of an estimate that is looked at once.
inline constexpr double usual_confidence = 0.95;

/// The ratio of two samples of times (> 0) with its interval and the chances against `threshold`.
/// Requires a time on each side.
///
/// In turn, rounds are also compared pair by pair (Wilcoxon), which drift that is slower than a
/// round cannot disturb, while all against all (Mann-Whitney) tells more where rounds are
/// independent. The better of both is taken and its chance doubled, for having looked twice.
/// `base_ns` may hold base twice or more: all its rounds, then all rounds again.
RatioEstimate estimate_ratio(std::span<const double> base_ns, std::span<const double> head_ns,
                             double threshold, Order order = Order::apart,
                             double confidence = usual_confidence);

/// The same for rounds of several processes of each side in random order: `blocks` rounds, one
/// after the other, of equally many times. Only times of one round meet, so that what the machine
/// did from round to round is in neither side, and chance is all that parts them within one.
RatioEstimate estimate_within_rounds(std::span<const double> base_ns,
                                     std::span<const double> head_ns, std::size_t blocks,
                                     double threshold, double confidence = usual_confidence);

/// Whether screening rounds ask for fresh ones: the ratio leans a third of the threshold or more to
/// one side, with a one-sided chance below 20 % if nothing differed.
bool is_suspect(std::span<const double> base_ns, std::span<const double> head_ns, double threshold,
                Order order);

/// Rounds per arm after which an interval that shrinks with their root would lie within the
/// threshold or beyond it; 0 if the ratio is too near the threshold to tell (more than 10,000), or
/// the interval is beyond it already.
int rounds_needed(const RatioEstimate& estimate, double threshold);

/// 0 if a change of some timed case that has no outcome yet could be shown, Holm over all of them;
/// else after how many rounds a side it could: where every round of head is beyond all of base, the
/// chance is still not below one in the number of ways to order the rounds.
int rounds_lacking(const std::vector<Verdict>& verdicts, const GateRule& rule, Order order);

/// Decides timed cases that have a ratio and no outcome by the ratio alone, Holm over all of them.
void decide_at_once(std::vector<Verdict>& verdicts, const GateRule& rule);

/// The looks at confirming rounds: after how many each, the last being `most`.
std::vector<int> confirming_looks(int most);

/// Which estimates show a change at a look that has this share of alpha: Holm over all of them at
/// alpha * share. In the order given: slower, faster or inconclusive.
std::vector<VerdictOutcome> confirmed(std::span<const RatioEstimate> estimates,
                                      const GateRule& rule, double share);

/// When a sequential run looks at its rounds: shares of the budget, rising, the last being 1.
std::vector<double> sequential_looks();

/// What all looks until that share of the budget may have spent, of alpha and of the intervals' 5 %
/// alike. A look may spend what has been added since the look before.
double spent_until(double moment);

/// Whether the whole interval lies within the threshold.
bool is_within(const RatioEstimate& estimate, double threshold);

/// Whether base against itself differs so much that no change can be believed.
bool noise_differs(const std::optional<RatioEstimate>& noise);

/// Whether further rounds are of no use: the fresh rounds lean the other way, or hardly at all.
bool is_cleared(const RatioEstimate& fresh, double threshold);

/// Sets outcome, reason and rounds_needed of a timed verdict that no test rejected: `same` if an
/// interval lies within the threshold, else `inconclusive`.
void settle(Verdict& verdict, const GateRule& rule);

/// Sets a confirmed outcome with its reason, unless base against itself differs as much.
void accept(Verdict& verdict, VerdictOutcome outcome, const GateRule& rule);

}  // namespace collbench

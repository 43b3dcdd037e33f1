// Shows what the rules found for a library gain, and that it obeys them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/tuning/tune.h"

namespace collbench {

/// What the loaded rules do at a point that they change.
struct ProvenPoint {
  Case point;
  std::string played;  // what the library said it plays; empty: it does not say
  /// Of the rule that holds here; nothing: it is not known, as where a gain is not sure.
  std::optional<bool> is_obeyed;
  int measurements = 0;
  bool has_both = false;           // whether both times were measured, by the race or here
  Shift gain{};                    // by all measurements of the race and the proof
  std::vector<double> log_ratios;  // own choice's time over that of the rule's, of each round
};

/// Measures the library's own choice and the rule's algorithm by its name, by turns, at the points
/// that the rules change, until the gain is sure, too small to pay, or the budget spent. Both in
/// the processes that `plan.measure` has: two starts of one job differ more than two algorithms do.
/// All times count in the race, so each says something of its neighbours; a gain is sure if its low
/// end is above 0, and a round was made there, or at the next size of the same rule, where it is
/// sure too. Where both were measured, as by the race, a gain beyond doubt needs no round.
///
/// What is so learnt may be news of sizes that the rules leave to the library: those are chosen
/// once more (choose_again()), and proven as well, until nothing changes. `result` has them then.
///
/// Then, whatever the budget, `with` shows that those are obeyed whose gain is sure. It has the
/// rules loaded that `result` holds when it is first called. At each point it is seen where
/// `expected` says what is then played. Where that is empty, since the library does not show it,
/// each rule (sizes in a row with one algorithm) is asked where both times were measured and the
/// gain is largest, by turns with its algorithm by name, until a round is nearer to equal times
/// than to what the library's own choice would make them (20 to 1), or all rounds together are. If
/// six do not tell, both must agree to 5 % and what looking a rule up costs; where the algorithm by
/// its name was as slow as the library's own choice in all six, it is not known.
std::vector<ProvenPoint> prove_rules(
    const TuningPlan& plan, Race& race, TuningResult& result, const MeasureCase& with,
    Seconds budget, const std::function<std::string(const std::string& candidate)>& expected);

/// Takes back what has not proven itself: rules whose gain is not sure to 95 %, those that are not
/// obeyed, and those whose turn did not come. How many.
int take_back(TuningResult& result, const std::vector<ProvenPoint>& proven);

}  // namespace collbench

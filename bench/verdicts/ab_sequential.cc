// The sequential design: rounds of the cases that are open, until none is or the budget is spent.
#include <algorithm>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/verdicts/ab_rounds.h"
#include "bench/verdicts/verdict_rules.h"
#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

constexpr int fewest_starts = 10;  // of a side: with fewer, ranks refute nothing at a look's alpha

/// A timed case that both sides have.
struct TimedCase {
  std::string key;
  Case point;
  RatioEstimate estimate;                                 // of the latest look; p = 1 before it
  VerdictOutcome outcome = VerdictOutcome::inconclusive;  // slower or faster once shown
  bool over = false;                                      // decided, or wrong
};

class SequentialRun {
 public:
  explicit SequentialRun(const AbPlan& plan) : plan_(plan), rounds_(plan) {}

  Comparison run() {
    const std::vector<double> looks = sequential_looks();
    for (const double moment : looks) {
      const bool last = moment == looks.back();
      const bool goes_on = measure_until(plan_.budget * moment, last);
      if (goes_on && !last && comparison_.rounds * plan_.starts < fewest_starts) continue;
      // Nothing comes after the last look, so it may spend all that is left.
      look(goes_on ? moment : 1);
      if (!goes_on || open_cases().empty()) break;
    }
    return conclude();
  }

 private:
  std::vector<Case> open_cases() const {
    std::vector<Case> open;
    for (const TimedCase& one : cases_) {
      if (!one.over) open.push_back(one.point);
    }
    return open;
  }

  /// Rounds of the open cases until that time. False if nothing more can be measured: all is
  /// decided, a stop was requested, or the budget has no room for a round.
  bool measure_until(Seconds until, bool last) {
    while (comparison_.rounds == 0 || rounds_.elapsed() < until) {
      const std::vector<Case> open = open_cases();
      if (comparison_.rounds > 0 && open.empty()) return false;
      // The first is measured whatever it costs: without it there is no comparison.
      const Seconds limit = comparison_.rounds == 0 ? Seconds{1e18} : plan_.budget;
      if (rounds_.stopped(latest_, limit)) return false;
      plan_.on_progress(comparison_.rounds == 0
                            ? std::string("round 1")
                            : fmt::format("round {}, {} of {} cases open", comparison_.rounds + 1,
                                          open.size(), cases_.size()));
      const Seconds before = rounds_.elapsed();
      if (!round(open)) return false;
      latest_ = rounds_.elapsed() - before;
    }
    return !last;
  }

  /// Starts of base and head in random order, with the open cases if some are decided.
  bool round(const std::vector<Case>& open) {
    std::vector<AbArm> order(static_cast<std::size_t>(plan_.starts), AbArm::base);
    order.resize(2 * order.size(), AbArm::head);
    std::shuffle(order.begin(), order.end(), random_);
    const bool all = comparison_.rounds == 0 || open.size() == cases_.size();
    ArmFiles files;
    if (!rounds_.measure(order, all ? std::vector<Case>() : open, false, files)) return false;
    arms_.base.add(files[0]);
    arms_.head.add(files[1]);
    starts_.add(files, plan_.starts, all ? std::vector<Case>() : open);
    if (comparison_.rounds++ == 0) {
      comparison_.base = files[0].front().environment;
      comparison_.head = files[1].front().environment;
      find_cases();
    }
    for (TimedCase& one : cases_) {
      const std::vector<Record>& head = arms_.head.of(one.key);
      one.over = one.over || !is_right(head.back());
    }
    return true;
  }

  void find_cases() {
    for (const std::string& key : arms_.base.keys()) {
      const std::vector<Record>& base = arms_.base.of(key);
      if (base.front().measurement.exact || lower_quartiles(base).empty() ||
          lower_quartiles(arms_.head.of(key)).empty()) {
        continue;
      }
      TimedCase one;
      one.key = key;
      one.point = base.front().point;
      cases_.push_back(std::move(one));
    }
  }

  /// Of times that stand round by round. Where a start was skipped rounds cannot be told apart.
  RatioEstimate estimate(const std::vector<double>& base, const std::vector<double>& head,
                         const TimedCase& one, double confidence = usual_confidence) const {
    const auto starts = static_cast<std::size_t>(plan_.starts);
    const double threshold = threshold_of(plan_.rule, one.point);
    if (base.size() != head.size() || base.size() % starts != 0) {
      return estimate_ratio(base, head, threshold, Order::apart, confidence);
    }
    return estimate_within_rounds(base, head, base.size() / starts, threshold, confidence);
  }

  /// Base against itself: rounds against the rounds after them.
  std::optional<RatioEstimate> noise_of(const TimedCase& one) const {
    const std::vector<double> base = lower_quartiles(arms_.base.of(one.key));
    const auto starts = static_cast<std::size_t>(plan_.starts);
    if (!plan_.noise_arm || base.size() < 2 * starts) return std::nullopt;
    std::vector<double> odd;
    std::vector<double> even;
    for (std::size_t i = 0; i < base.size() / (2 * starts) * (2 * starts); ++i) {
      (i / starts % 2 == 0 ? odd : even).push_back(base[i]);
    }
    return estimate(odd, even, one);
  }

  /// Decides what the rounds so far show, at `moment` of the budget.
  void look(double moment) {
    const double share = spent_until(moment) - spent_;
    spent_ += share;
    const double confidence = 1 - (1 - usual_confidence) * share;
    std::vector<RatioEstimate> estimates;
    for (TimedCase& one : cases_) {
      if (!one.over) {
        one.estimate = estimate(lower_quartiles(arms_.base.of(one.key)),
                                lower_quartiles(arms_.head.of(one.key)), one, confidence);
      }
      estimates.push_back(one.estimate);
    }
    const std::vector<VerdictOutcome> outcomes = confirmed(estimates, plan_.rule, share);
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      TimedCase& one = cases_[i];
      if (one.over) continue;
      one.outcome = outcomes[i];
      const bool shown = outcomes[i] != VerdictOutcome::inconclusive;
      one.over = is_within(one.estimate, threshold_of(plan_.rule, one.point)) ||
                 (shown && !noise_differs(noise_of(one)));
    }
  }

  Comparison conclude() {
    comparison_.rule = plan_.rule;
    // The looks have estimated within rounds: all against all, thousands of processes are
    // gigabytes.
    comparison_.verdicts = pair_cases(arms_, plan_.rule, std::nullopt);
    for (Verdict& verdict : comparison_.verdicts) {
      if (verdict.outcome != VerdictOutcome::inconclusive || !verdict.reason.empty()) continue;
      const auto found =
          std::find_if(cases_.begin(), cases_.end(),
                       [key = case_key(verdict.point)](const auto& one) { return one.key == key; });
      if (found == cases_.end()) {
        verdict.reason = "the first round did not time it on both sides";
        continue;
      }
      verdict.ratio = found->estimate;
      verdict.noise = noise_of(*found);
      set_levels(verdict);
      if (found->outcome == VerdictOutcome::inconclusive) {
        settle(verdict, plan_.rule);
      } else {
        accept(verdict, found->outcome, plan_.rule);
      }
    }
    for (Verdict& verdict : comparison_.verdicts) {
      judge_losses(verdict, starts_.of(case_key(verdict.point)), comparison_);
    }
    comparison_.elapsed = rounds_.elapsed();
    const std::string& stopped_by = rounds_.stopped_by();
    const bool by_budget = stopped_by.empty() || stopped_by == "budget";
    comparison_.stopped_by = !by_budget             ? stopped_by
                             : open_cases().empty() ? std::string()
                                                    : std::string("budget");
    if (!cases_.empty()) warn_of_few_rounds(comparison_);
    return std::move(comparison_);
  }

  const AbPlan& plan_;
  AbRounds rounds_;
  Arms arms_;
  StartCounts starts_;
  Comparison comparison_;
  std::vector<TimedCase> cases_;
  RandomEngine random_ = random_engine(plan_.seed, "ab-sequential");
  Seconds latest_{0};  // duration of the latest round
  double spent_ = 0;   // of alpha, by the looks so far
};

}  // namespace

Comparison run_sequential(const AbPlan& plan) {
  require(plan.budget.count() > 0,
          fmt::format("ab needs a budget above 0 s, not {} s", plan.budget.count()));
  require(plan.starts > 0,
          fmt::format("ab needs at least 1 process of a side in a round, not {}", plan.starts));
  return SequentialRun(plan).run();
}

}  // namespace collbench

#include "bench/verdicts/ab.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/verdicts/ab_rounds.h"
#include "bench/verdicts/verdict_rules.h"
#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

constexpr double screening_share = 0.6;  // of the budget, at most

/// A case whose screening rounds differ.
struct Suspect {
  std::string key;
  Case point;
  int rounds = 0;
  RatioEstimate fresh;                                    // p = 1 until it is measured
  VerdictOutcome outcome = VerdictOutcome::inconclusive;  // slower or faster once confirmed
  bool over = false;                                      // confirmed or cleared
};

class AbRun {
 public:
  explicit AbRun(const AbPlan& plan) : plan_(plan), rounds_(plan) {}

  Comparison run() {
    screen();
    find_suspects();
    confirm();
    return conclude();
  }

 private:
  /// Base, head and base again in random order.
  bool screening_round(int round) {
    std::vector<AbArm> order = {AbArm::base, AbArm::head};
    if (plan_.noise_arm) order.push_back(AbArm::again);
    RandomEngine random = random_engine(plan_.seed, "ab", static_cast<std::uint64_t>(round));
    std::shuffle(order.begin(), order.end(), random);
    ArmFiles files;
    if (!rounds_.measure(order, {}, false, files)) return false;
    if (comparison_.base.empty()) comparison_.base = files[0].front().environment;
    if (comparison_.head.empty()) comparison_.head = files[1].front().environment;
    arms_.base.add(files[0]);
    arms_.head.add(files[1]);
    arms_.again.add(files[2]);
    starts_.add(files, 1, {});
    return true;
  }

  void screen() {
    Seconds longest{0};
    for (int round = 0; round < plan_.rounds; ++round) {
      // The first rounds are measured whatever they cost: without them there is no comparison.
      const Seconds until = round < 2 ? Seconds{1e18} : plan_.budget * screening_share;
      if (rounds_.stopped(longest, until)) break;
      plan_.on_progress(fmt::format("round {} of {}", round + 1, plan_.rounds));
      const Seconds before = rounds_.elapsed();
      if (!screening_round(round)) break;
      longest = std::max(longest, rounds_.elapsed() - before);
      ++comparison_.rounds;
    }
  }

  void find_suspects() {
    for (const std::string& key : arms_.base.keys()) {
      std::vector<double> base = lower_quartiles(arms_.base.of(key));
      const std::vector<double> again = lower_quartiles(arms_.again.of(key));
      const std::vector<double> head = lower_quartiles(arms_.head.of(key));
      base.insert(base.end(), again.begin(), again.end());
      if (base.empty() || head.empty() || arms_.base.of(key).front().measurement.exact) continue;
      Suspect suspect;
      suspect.key = key;
      suspect.point = arms_.base.of(key).front().point;
      const double threshold = threshold_of(plan_.rule, suspect.point);
      if (!is_suspect(base, head, threshold, Order::in_turn)) continue;
      suspects_.push_back(std::move(suspect));
    }
  }

  bool confirming_round(Suspect& suspect) {
    std::array<AbArm, 2> order = {AbArm::base, AbArm::head};
    if (std::bernoulli_distribution()(order_)) std::swap(order[0], order[1]);
    ArmFiles files;
    if (!rounds_.measure(order, {suspect.point}, true, files)) return false;
    arms_.fresh_base.add(files[0]);
    arms_.fresh_head.add(files[1]);
    ++suspect.rounds;
    return true;
  }

  /// Rounds of all open suspects, in random order, until they have `rounds`. False to stop.
  bool measure_until(int rounds) {
    for (int round = rounds_done_; round < rounds; ++round) {
      std::vector<Suspect*> open;
      for (Suspect& suspect : suspects_) {
        if (!suspect.over) open.push_back(&suspect);
      }
      std::shuffle(open.begin(), open.end(), order_);
      for (Suspect* suspect : open) {
        if (rounds_.stopped(longest_fresh_, plan_.budget)) return false;
        plan_.on_progress(fmt::format("confirming {}: round {} of {}", case_name(suspect->point),
                                      round + 1, plan_.confirm_rounds));
        const Seconds before = rounds_.elapsed();
        if (!confirming_round(*suspect)) return false;
        longest_fresh_ = std::max(longest_fresh_, rounds_.elapsed() - before);
      }
    }
    rounds_done_ = rounds;
    return true;
  }

  /// Looks at the fresh rounds, with that share of alpha: ends suspects that are confirmed or
  /// cleared.
  void look(double share) {
    std::vector<RatioEstimate> fresh;
    for (Suspect& suspect : suspects_) {
      const std::vector<double> base = lower_quartiles(arms_.fresh_base.of(suspect.key));
      const std::vector<double> head = lower_quartiles(arms_.fresh_head.of(suspect.key));
      if (!base.empty() && !head.empty() && !suspect.over) {
        suspect.fresh =
            estimate_ratio(base, head, threshold_of(plan_.rule, suspect.point), Order::in_turn);
      }
      fresh.push_back(suspect.fresh);
    }
    const std::vector<VerdictOutcome> outcomes = confirmed(fresh, plan_.rule, share);
    for (std::size_t i = 0; i < suspects_.size(); ++i) {
      Suspect& suspect = suspects_[i];
      if (suspect.over) continue;
      suspect.outcome = outcomes[i];
      suspect.over = outcomes[i] != VerdictOutcome::inconclusive ||
                     (suspect.rounds > 0 &&
                      is_cleared(suspect.fresh, threshold_of(plan_.rule, suspect.point)));
    }
  }

  void confirm() {
    if (suspects_.empty() || plan_.confirm_rounds <= 0) return;
    rounds_.forget_budget();
    const std::vector<int> looks = confirming_looks(plan_.confirm_rounds);
    for (const int rounds : looks) {
      const bool whole = measure_until(rounds);
      look(1.0 / static_cast<double>(looks.size()));
      if (!whole) return;
    }
  }

  /// Timed verdicts by what the fresh rounds of the suspects showed.
  void settle_by_suspects() {
    for (Verdict& verdict : comparison_.verdicts) {
      if (verdict.outcome != VerdictOutcome::inconclusive || !verdict.ratio) continue;
      settle(verdict, plan_.rule);
      for (const Suspect& suspect : suspects_) {
        if (suspect.key != case_key(verdict.point)) continue;
        if (suspect.outcome != VerdictOutcome::inconclusive) {
          accept(verdict, suspect.outcome, plan_.rule);
        }
      }
    }
  }

  Comparison conclude() {
    comparison_.rule = plan_.rule;
    comparison_.confirm_rounds = plan_.confirm_rounds;
    comparison_.verdicts = pair_cases(arms_, plan_.rule, Order::in_turn);
    for (Verdict& verdict : comparison_.verdicts) {
      judge_losses(verdict, starts_.of(case_key(verdict.point)), comparison_);
    }
    if (plan_.confirm_rounds > 0) {
      settle_by_suspects();
    } else {
      decide_at_once(comparison_.verdicts, plan_.rule);
    }
    comparison_.elapsed = rounds_.elapsed();
    comparison_.stopped_by = rounds_.stopped_by();
    warn_of_few_rounds(comparison_);
    return std::move(comparison_);
  }

  const AbPlan& plan_;
  AbRounds rounds_;
  Arms arms_;
  StartCounts starts_;
  Comparison comparison_;
  std::vector<Suspect> suspects_;
  RandomEngine order_ = random_engine(plan_.seed, "ab-confirm");
  int rounds_done_ = 0;
  Seconds longest_fresh_{0};
};

}  // namespace

std::string_view to_string(AbArm arm) {
  constexpr std::array<std::string_view, 3> names{"base", "head", "again"};
  return names[static_cast<std::size_t>(arm)];
}

Comparison run_ab(const AbPlan& plan) {
  require(plan.rounds > 0, fmt::format("ab needs at least 1 round, not {}", plan.rounds));
  if (plan.design == AbDesign::sequential) return run_sequential(plan);
  return AbRun(plan).run();
}

}  // namespace collbench

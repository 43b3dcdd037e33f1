#include "bench/tuning/proof.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "bench/tuning/measure_cell.h"

namespace collbench {
namespace {

using ProofClock = std::chrono::steady_clock;

constexpr int rounds_for_interval = 6;  // of which ranks give one of 95 %
constexpr int most_rounds = 15;
constexpr double as_fast = 0.05;   // of ln(time)
constexpr double sure_odds = 3;    // ln: 20 to 1
constexpr double no_doubt = 3;     // standard deviations above worth_a_rule
constexpr double of_starts = 0.2;  // standard deviation of ln(time) between two starts of a job
// A library that is told an algorithm does not look it up in its rules: MPICH 4.0.2's look at 4 B
// costs 0.05 us of 0.53 (2 ranks on 2 cores).
constexpr Seconds looking_up{1e-7};

/// What times say of whether a library obeys a rule that does not show what it plays: those of the
/// rule and of its algorithm by name, by turns in one start of the job. If the rule is not obeyed
/// they differ by what the rule gains. One round that tells is enough, since busy ranks with less
/// than a core each may be slow whatever they play.
class ObedienceByTime {
 public:
  /// ln of `named`, by its name, over the time by the rule.
  void add(double log_of_named, Seconds named, double expected_gain) {
    log_of_named_.push_back(log_of_named);
    gains_.push_back(expected_gain);
    slower_ = std::max(slower_, as_fast + std::log(1 + looking_up / named));
  }
  /// Nothing while more rounds may tell, and where the algorithm by its name was as slow as the
  /// library's own choice in all: then equal times say nothing. `variance` is that of one round,
  /// `unsure` that of the gain.
  std::optional<bool> verdict(double variance, double unsure) const {
    const auto rounds = static_cast<double>(gains_.size());
    const double gain = mean(gains_);
    if (odds(log_of_named_.back(), gains_.back(), variance + unsure) > sure_odds) return true;
    if (odds(mean(log_of_named_), gain, variance / rounds + unsure) > sure_odds) return true;
    if (rounds < rounds_for_interval || gain < worth_a_rule) return std::nullopt;
    const Shift shift = walsh_shift(log_of_named_, 0.95);
    return shift.low <= as_fast && shift.high >= -slower_;
  }
  /// ln, that times equal but for `off` are so since the rule is obeyed.
  static double odds(double off, double gain, double variance) {
    return gain * (2 * off + gain) / (2 * variance);
  }

 private:
  static double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }

  std::vector<double> log_of_named_;
  std::vector<double> gains_;
  double slower_ = 0;
};

// 0 to n - 1: first every third, beside which all others lie.
std::vector<std::size_t> each_third_first(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [](std::size_t i) { return i % 3 == 1; });
  return order;
}

using SeenPoints = std::map<std::size_t, ProvenPoint>;  // by the cell of the library's own choice

/// The proof of one rule, round by round: of what it gains at each of its points, then, where that
/// is sure, of its being obeyed. What is seen of points outlives it, since rules may grow.
class RuleProof {
 public:
  RuleProof(std::vector<TunedPoint> points, const TuningPlan& plan, Race& race, SeenPoints& seen)
      : points_(std::move(points)), plan_(plan), race_(race) {
    for (const TunedPoint& point : points_) {
      seen_.push_back(&seen[point.own_cell]);
      seen_.back()->point = point.own;
    }
  }

  /// One round of measuring what the rule gains where that is open, while `may_go_on`. False:
  /// stopped on the way.
  bool measure_gains(const std::function<bool()>& may_go_on) {
    for (const std::size_t i : each_third_first(points_.size())) {
      if (is_decided(i) || !may_go_on()) continue;
      if (!measure_by_turns(i)) return false;
    }
    return true;
  }
  /// Whether it is still to be seen that the rule is obeyed, where it gains.
  bool is_due() const { return !is_obeyed_ && gains_most(); }
  /// False: stopped on the way.
  bool see_obedience(const MeasureCase& with,
                     const std::function<std::string(const std::string&)>& expected) {
    const std::size_t i = *gains_most();
    const TunedPoint& point = points_[i];
    const auto measure = [&](const Case& cell) {
      ++seen_[i]->measurements;
      Measurement measured = with(cell, sampling_for(plan_, cell, true));
      if (!measured.latency_ns.empty()) require_right(measured, cell);
      return measured;
    };
    const Measurement tuned = measure(point.own);
    if (tuned.latency_ns.empty()) return false;
    if (expected) {
      seen_[i]->played = tuned.played;
      is_obeyed_ = tuned.played.ends_with(", " + expected(point.best.algorithm));
      return true;
    }
    const CellTime by_rule = time_of(plan_, point.own, tuned);
    if (tells_alone(point, by_rule)) {
      is_obeyed_ = true;
      return true;
    }
    const Measurement named = measure(point.best);
    if (named.latency_ns.empty()) return false;
    add_round(point, by_rule.time, time_of(plan_, point.best, named));
    return true;
  }
  void add_results(std::vector<ProvenPoint>& points) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      points.push_back(*seen_[i]);
      points.back().gain = gain(i);
      points.back().has_both = has_both(i);
      if (is_sure(i)) points.back().is_obeyed = is_obeyed_;
    }
  }

 private:
  Shift gain(std::size_t i) const {
    return gain_of(race_, points_[i].own_cell, points_[i].best_cell);
  }
  // Of the points where measurements have shown a gain: asking where it is known from others would
  // compare with times that were never measured.
  std::optional<std::size_t> gains_most() const {
    std::optional<std::size_t> most;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (is_seen(i) && (!most || gain(i).estimate > gain(*most).estimate)) most = i;
    }
    return most;
  }

  bool is_measured(std::size_t i) const { return !seen_[i]->log_ratios.empty(); }
  bool is_beyond_doubt(std::size_t i) const {
    const Shift known = gain(i);
    const double deviation = (known.estimate - known.low) / one_sided;
    return known.estimate - no_doubt * deviation > worth_a_rule;
  }
  bool is_seen(std::size_t i) const {
    if (is_measured(i)) return gain(i).low > 0;
    return has_both(i) && is_beyond_doubt(i);
  }
  bool has_both(std::size_t i) const {
    return race_.is_measured(points_[i].own_cell) && race_.is_measured(points_[i].best_cell);
  }
  // A gain that is known from other sizes only is not, unless the next is seen.
  bool is_sure(std::size_t i) const {
    const bool is_next_seen =
        (i > 0 && is_seen(i - 1)) || (i + 1 < points_.size() && is_seen(i + 1));
    return is_seen(i) || (gain(i).low > 0 && is_next_seen);
  }
  // Whether more rounds would tell nothing that matters.
  bool is_decided(std::size_t i) const {
    return is_sure(i) || (is_measured(i) && gain(i).estimate < worth_a_rule);
  }

  std::optional<Seconds> measure(std::size_t i, std::size_t cell) {
    const CellMeasurement made = measure_cell(plan_, race_, cell);
    if (!made.seen) return std::nullopt;
    seen_[i]->measurements += made.looks;
    return made.seen->time;
  }
  bool measure_by_turns(std::size_t i) {
    const TunedPoint& point = points_[i];
    const bool best_first = seen_[i]->log_ratios.size() % 2 == 1;
    const auto first = measure(i, best_first ? point.best_cell : point.own_cell);
    if (!first) return false;
    const auto second = measure(i, best_first ? point.own_cell : point.best_cell);
    if (!second) return false;
    const double log_ratio = std::log(*first / *second) * (best_first ? -1 : 1);
    seen_[i]->log_ratios.push_back(log_ratio);
    race_.measured_ratio(point.own_cell, point.best_cell, log_ratio);
    return true;
  }

  // Of a gain that no two starts differ by: that of the rule takes what its algorithm took.
  bool tells_alone(const TunedPoint& point, const CellTime& by_rule) const {
    const Shift known = gain_of(race_, point.own_cell, point.best_cell);
    const double unsure = (known.estimate - known.low) / one_sided;
    const double deviation = std::hypot(of_starts, by_rule.deviation, unsure);
    const double off =
        race_.surface().log_us(point.best_cell) - std::log(by_rule.time.count() * 1e6);
    return ObedienceByTime::odds(off, known.estimate, deviation * deviation) > sure_odds;
  }
  void add_round(const TunedPoint& point, Seconds tuned, const CellTime& named) {
    const TimeSurface& surface = race_.surface();
    const Shift known = gain_of(race_, point.own_cell, point.best_cell);
    double expected_gain = known.estimate;
    if (is_surprising(surface, point.best_cell, named)) {  // as slow as the own choice, perhaps
      const double log_us = std::log(named.time.count() * 1e6);
      expected_gain = std::clamp(surface.log_us(point.own_cell) - log_us, 0.0, expected_gain);
    }
    by_time_.add(std::log(named.time / tuned), named.time, expected_gain);
    const double unsure = (known.estimate - known.low) / one_sided;
    is_obeyed_ = by_time_.verdict(surface.ratio_drift() * surface.ratio_drift(), unsure * unsure);
  }

  std::vector<TunedPoint> points_;
  const TuningPlan& plan_;
  Race& race_;
  std::vector<ProvenPoint*> seen_;
  ObedienceByTime by_time_;
  std::optional<bool> is_obeyed_;
};

// The points that the rules change, by rule: sizes in a row with one algorithm.
std::vector<std::vector<TunedPoint>> changed_points(const TuningResult& result) {
  std::vector<std::vector<TunedPoint>> rules;
  const TunedPoint* before = nullptr;
  for (const TunedPoint& point : result.points) {
    const bool goes_on = before != nullptr && before->changes &&
                         before->best.workers == point.best.workers &&
                         before->best.algorithm == point.best.algorithm;
    before = &point;
    if (!point.changes) continue;
    if (!goes_on) rules.emplace_back();
    rules.back().push_back(point);
  }
  return rules;
}

/// One of each rule, or of each of its points.
std::vector<RuleProof> proofs_of(const TuningPlan& plan, Race& race, const TuningResult& result,
                                 SeenPoints& seen, bool by_rule) {
  std::vector<RuleProof> proofs;
  for (std::vector<TunedPoint>& rule : changed_points(result)) {
    if (by_rule) {
      proofs.emplace_back(std::move(rule), plan, race, seen);
      continue;
    }
    for (const TunedPoint& point : rule) {
      proofs.emplace_back(std::vector{point}, plan, race, seen);
    }
  }
  return proofs;
}

/// False: stopped on the way.
bool measure_gains(std::vector<RuleProof>& proofs, const std::function<bool()>& may_go_on) {
  for (int round = 0; round < most_rounds; ++round) {
    for (RuleProof& proof : proofs) {
      if (!proof.measure_gains(may_go_on)) return false;
    }
  }
  return true;
}

void see_obedience(std::vector<RuleProof>& proofs, const MeasureCase& with,
                   const std::function<std::string(const std::string&)>& expected,
                   const std::function<bool()>& is_stopped) {
  for (int round = 0; round < rounds_for_interval; ++round) {
    for (RuleProof& proof : proofs) {
      if (!proof.is_due()) continue;
      if (is_stopped() || !proof.see_obedience(with, expected)) return;
    }
  }
}

}  // namespace

std::vector<ProvenPoint> prove_rules(
    const TuningPlan& plan, Race& race, TuningResult& result, const MeasureCase& with,
    Seconds budget, const std::function<std::string(const std::string& candidate)>& expected) {
  const auto begin = ProofClock::now();
  SeenPoints seen;
  std::vector<RuleProof> proofs;
  const auto is_stopped = [&] { return !plan.stop_requested().empty(); };
  const auto may_go_on = [&] { return !is_stopped() && ProofClock::now() - begin < budget; };
  do {
    proofs = proofs_of(plan, race, result, seen, !expected);
    if (!measure_gains(proofs, may_go_on)) break;
  } while (choose_again(plan, race, result));
  see_obedience(proofs, with, expected, is_stopped);
  std::vector<ProvenPoint> points;
  for (const RuleProof& proof : proofs) proof.add_results(points);
  return points;
}

int take_back(TuningResult& result, const std::vector<ProvenPoint>& proven) {
  int taken_back = 0;
  for (const ProvenPoint& seen : proven) {
    if (seen.is_obeyed.value_or(false) && seen.gain.low > 0) continue;
    for (TunedPoint& point : result.points) {
      const bool is_it = point.own.workers == seen.point.workers &&
                         point.own.bytes == seen.point.bytes && point.changes;
      if (!is_it) continue;
      point.changes = false;
      ++taken_back;
    }
  }
  return taken_back;
}

}  // namespace collbench

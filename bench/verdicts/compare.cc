#include "bench/verdicts/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "core/error.h"
#include "core/quantile.h"

namespace collbench {
namespace {

constexpr double exact_tolerance = 1e-12;  // of times and bytes: sums in another order
constexpr int fewest_compared_rounds = 8;  // below, a change is hardly ever shown

bool has_figures(const Record& record) {
  return record.skipped.empty() &&
         (record.measurement.exact || !record.measurement.latency_ns.empty());
}

/// A round that was simulated, if any was.
const Record* first_exact(const std::vector<Record>& rounds) {
  const auto found = std::ranges::find_if(rounds, [](const Record& record) {
    return record.measurement.exact && record.skipped.empty();
  });
  return found == rounds.end() ? nullptr : &*found;
}

Arm exact_arm(const Record& record) {
  Arm arm;
  const double time_ns = record.measurement.exact->time.count() * 1e9;
  arm.typical_ns = arm.p25_ns = arm.p50_ns = arm.p75_ns = arm.p95_ns = time_ns;
  arm.samples = 1;
  return arm;
}

Arm timed_arm(const std::vector<Record>& rounds, const std::vector<Record>& fresh) {
  Arm arm;
  std::vector<double> samples;
  for (const auto* part : {&rounds, &fresh}) {
    for (const double quartile : lower_quartiles(*part)) arm.rounds_ns.push_back(quartile);
    for (const Record& record : *part) {
      const std::vector<double> times = call_times_ns(record);
      samples.insert(samples.end(), times.begin(), times.end());
    }
  }
  arm.typical_ns = quantile(arm.rounds_ns, 0.5);
  arm.p25_ns = quantile(samples, 0.25);
  arm.p50_ns = quantile(samples, 0.5);
  arm.p75_ns = quantile(samples, 0.75);
  arm.p95_ns = quantile(samples, 0.95);
  arm.samples = static_cast<int>(samples.size());
  return arm;
}

std::optional<Arm> arm_of(const std::vector<Record>& rounds, const std::vector<Record>& fresh) {
  if (std::none_of(rounds.begin(), rounds.end(), has_figures)) return std::nullopt;
  if (const Record* exact = first_exact(rounds)) return exact_arm(*exact);
  return timed_arm(rounds, fresh);
}

const Record* first_wrong(const std::vector<Record>& rounds) {
  const auto found = std::find_if(rounds.begin(), rounds.end(),
                                  [](const Record& record) { return !is_right(record); });
  return found == rounds.end() ? nullptr : &*found;
}

std::ptrdiff_t skipped(const std::vector<Record>& rounds) {
  return std::ranges::count_if(rounds,
                               [](const Record& record) { return !record.skipped.empty(); });
}
double share_skipped(const std::vector<Record>& rounds) {
  return static_cast<double>(skipped(rounds)) / static_cast<double>(rounds.size());
}

std::string absence(const std::vector<Record>& rounds, const char* arm) {
  for (const Record& record : rounds) {
    if (!record.skipped.empty()) return fmt::format("{} skipped it: {}", arm, record.skipped);
  }
  return fmt::format("{} does not have it", arm);
}

bool differ(double one, double other) {
  return std::abs(one - other) > exact_tolerance * std::max(std::abs(one), std::abs(other));
}

/// The exact figures in which two records of one simulated case differ.
std::vector<ExactChange> exact_changes(const Record& base, const Record& head) {
  const Exact& one = *base.measurement.exact;
  const Exact& other = *head.measurement.exact;
  std::vector<ExactChange> changes;
  const auto add = [&](bool differs, const char* metric, const auto& before, const auto& after) {
    if (differs) changes.push_back({metric, fmt::format("{}", before), fmt::format("{}", after)});
  };
  const auto microseconds = [](const Exact& exact) {
    return fmt::format("{:.12g} us", exact.time.count() * 1e6);
  };
  add(differ(one.time.count(), other.time.count()), "simulated time", microseconds(one),
      microseconds(other));
  add(base.algorithm_chosen != head.algorithm_chosen, "algorithm", base.algorithm_chosen,
      head.algorithm_chosen);
  add(one.messages != other.messages, "messages", one.messages, other.messages);
  add(one.rounds != other.rounds, "rounds", one.rounds, other.rounds);
  add(differ(one.busiest_link_bytes, other.busiest_link_bytes), "bytes on the busiest link",
      one.busiest_link_bytes, other.busiest_link_bytes);
  return changes;
}

void decide_exact(Verdict& verdict, const Record* base, const Record* head) {
  if (base == nullptr || head == nullptr) {
    verdict.outcome = VerdictOutcome::changed;
    verdict.reason = base == nullptr ? "measured in base, simulated in head"
                                     : "simulated in base, measured in head";
    return;
  }
  verdict.changes = exact_changes(*base, *head);
  if (verdict.changes.empty()) {
    verdict.outcome = VerdictOutcome::same;
    verdict.reason = "exactly equal";
    return;
  }
  const bool time_differs = verdict.changes.front().metric == "simulated time";
  const bool longer = head->measurement.exact->time > base->measurement.exact->time;
  verdict.outcome = !time_differs ? VerdictOutcome::changed
                    : longer      ? VerdictOutcome::slower
                                  : VerdictOutcome::faster;
  std::vector<std::string> parts;
  for (const ExactChange& change : verdict.changes) {
    parts.push_back(fmt::format("{} {} -> {}", change.metric, change.base, change.head));
  }
  verdict.reason = fmt::format("{}", fmt::join(parts, ", "));
}

/// Estimates from `rounds` where both sides have some.
std::optional<RatioEstimate> estimate(const std::vector<Record>& base,
                                      const std::vector<Record>& head, double threshold,
                                      Order order) {
  const std::vector<double> base_ns = lower_quartiles(base);
  const std::vector<double> head_ns = lower_quartiles(head);
  if (base_ns.empty() || head_ns.empty()) return std::nullopt;
  return estimate_ratio(base_ns, head_ns, threshold, order);
}

void estimate_timed(Verdict& verdict, const Arms& arms, const std::string& key,
                    const GateRule& rule, Order order) {
  std::vector<Record> base = arms.base.of(key);
  const std::vector<Record>& again = arms.again.of(key);
  const double threshold = threshold_of(rule, verdict.point);
  verdict.noise = estimate(base, again, threshold, order);
  base.insert(base.end(), again.begin(), again.end());
  verdict.ratio = estimate(base, arms.head.of(key), threshold, order);
  verdict.confirmation =
      estimate(arms.fresh_base.of(key), arms.fresh_head.of(key), threshold, order);
  set_levels(verdict);
}

Verdict pair_case(const Arms& arms, const std::string& key, const GateRule& rule, Order order) {
  const std::vector<Record>& base = arms.base.of(key);
  const std::vector<Record>& head = arms.head.of(key);
  Verdict verdict;
  verdict.point = (base.empty() ? head : base).front().point;
  verdict.name = case_name(verdict.point);
  verdict.exact = first_exact(base) != nullptr || first_exact(head) != nullptr;
  verdict.metric = verdict.exact ? "simulated time" : "lower quartile of a round";
  verdict.base = arm_of(base, arms.fresh_base.of(key));
  verdict.head = arm_of(head, arms.fresh_head.of(key));
  for (const ArmRecords* arm : {&arms.head, &arms.fresh_head}) {
    if (const Record* wrong = first_wrong(arm->of(key))) {
      verdict.outcome = VerdictOutcome::wrong;
      verdict.reason = wrong->measurement.wrong > 0
                           ? fmt::format("{} elements of head are wrong", wrong->measurement.wrong)
                           : std::string("head's ranks ended with different bits");
      return verdict;
    }
  }
  if (!verdict.head) {
    verdict.outcome = VerdictOutcome::missing;
    verdict.reason = absence(head, "head");
  } else if (verdict.base && share_skipped(head) > 2 * share_skipped(base)) {
    // What works only now and then must not pass by the times at which it does.
    verdict.outcome = VerdictOutcome::missing;
    verdict.reason =
        fmt::format("in {} of {} rounds {}", skipped(head), head.size(), absence(head, "head"));
  } else if (!verdict.base) {
    verdict.outcome = VerdictOutcome::added;
    verdict.reason = absence(base, "base");
  } else if (verdict.exact) {
    decide_exact(verdict, first_exact(base), first_exact(head));
  } else {
    estimate_timed(verdict, arms, key, rule, order);
  }
  return verdict;
}

/// Whether the rounds of two files were measured in turn: neither ends before the other begins.
bool interleaved(const RecordFile& base, const RecordFile& head) {
  if (base.records.empty() || head.records.empty()) return false;
  const auto span = [](const RecordFile& file) {
    return std::minmax_element(
        file.records.begin(), file.records.end(),
        [](const Record& a, const Record& b) { return a.started < b.started; });
  };
  const auto [base_first, base_last] = span(base);
  const auto [head_first, head_last] = span(head);
  return base_first->started < head_last->started && head_first->started < base_last->started;
}

void warn(Comparison& comparison, bool in_turn) {
  const bool timed = std::any_of(comparison.verdicts.begin(), comparison.verdicts.end(),
                                 [](const Verdict& verdict) { return verdict.ratio.has_value(); });
  if (!timed) return;
  if (comparison.rounds < fewest_compared_rounds) {
    comparison.warnings.push_back(
        fmt::format("{} rounds a side: fewer than {} hardly ever show a change (--run-cycles)",
                    comparison.rounds, fewest_compared_rounds));
  }
  if (!in_turn) {
    comparison.warnings.push_back(
        "measured one after the other: what the machine did in between looks like a change "
        "(`collbench ab` measures in turn)");
  }
}

}  // namespace

std::vector<std::string> machine_mismatches(const Environment& base, const Environment& head) {
  std::vector<std::string> mismatches;
  for (const char* key : {"host", "cpu", "cores", "affinity", "cgroup_quota", "governor", "thp"}) {
    const std::string before = value_of(base, key, "");
    const std::string after = value_of(head, key, "");
    if (before != after) {
      mismatches.push_back(fmt::format("{}: '{}' is not '{}'", key, before, after));
    }
  }
  return mismatches;
}

std::vector<double> lower_quartiles(const std::vector<Record>& rounds) {
  std::vector<double> quartiles;
  for (const Record& round : rounds) {
    const std::vector<double> times = call_times_ns(round);
    if (!times.empty()) quartiles.push_back(quantile(times, 0.25));
  }
  return quartiles;
}

void set_levels(Verdict& verdict) {
  const RatioEstimate* estimate = deciding(verdict);
  if (estimate == nullptr || !verdict.base || !verdict.head) return;
  // Fresh rounds are the last of an arm, and decide alone where there are any.
  const auto level = [fresh = verdict.confirmation](const Arm& arm, int rounds) {
    const std::vector<double>& all = arm.rounds_ns;
    const std::size_t n =
        fresh ? std::min(all.size(), static_cast<std::size_t>(rounds)) : all.size();
    return quantile({all.end() - static_cast<std::ptrdiff_t>(n), all.end()}, 0.5);
  };
  const double base = level(*verdict.base, estimate->base_rounds);
  const double head = level(*verdict.head, estimate->head_rounds);
  const double middle = std::sqrt(base * head);
  verdict.base->typical_ns = middle / std::sqrt(estimate->ratio);
  verdict.head->typical_ns = middle * std::sqrt(estimate->ratio);
}

void ArmRecords::add(const RecordFile& file) {
  for (const Record& record : file.records) {
    const std::string key = to_json(record.point);
    const auto [place, is_new] = records_.try_emplace(key);
    if (is_new) keys_.push_back(key);
    place->second.push_back(record);
  }
}

const std::vector<Record>& ArmRecords::of(const std::string& key) const {
  static const std::vector<Record> none;
  const auto found = records_.find(key);
  return found == records_.end() ? none : found->second;
}

std::vector<Verdict> pair_cases(const Arms& arms, const GateRule& rule, Order order) {
  std::vector<Verdict> verdicts;
  for (const std::string& key : arms.base.keys()) {
    const Verdict verdict = pair_case(arms, key, rule, order);
    // What neither could run is no finding.
    if (verdict.base || verdict.head) verdicts.push_back(verdict);
  }
  for (const std::string& key : arms.head.keys()) {
    if (!arms.base.of(key).empty()) continue;
    Verdict verdict = pair_case(arms, key, rule, order);
    if (verdict.head) verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

void require_sound(const RecordFile& file, const std::string& name) {
  // `ab` gives decided cases no more rounds, so a cycle may have fewer cases than the one before.
  std::set<std::string> last_cycle;
  std::set<std::string> cycle;
  std::set<std::string> seen;
  std::map<std::string, Seconds> exact;  // `ab` keeps one of each round
  for (const Record& record : file.records) {
    const std::string key = to_json(record.point);
    const auto check = [&](bool holds, const std::string& what) {
      require(holds, fmt::format("'{}': case '{}' {}", name, case_name(record.point), what));
    };
    const Measurement& measured = record.measurement;
    for (const std::int64_t sample : measured.latency_ns) {
      check(sample > 0 || measured.exact, fmt::format("has a sample of {} ns", sample));
    }
    check(!measured.exact || measured.exact->time.count() >= 0, "has a time below zero");
    // Another benchmark's table does not say when, and its rounded figures may well be equal.
    if (measured.exact) {
      const Seconds time = measured.exact->time;
      check(exact.try_emplace(key, time).first->second == time,
            "is simulated twice, with different times");
    } else if (!record.started.empty()) {
      check(seen.insert(to_json(record)).second, "has the same record twice");
    }
    if (!cycle.insert(key).second) last_cycle = std::exchange(cycle, {key});
    check(last_cycle.empty() || last_cycle.count(key) > 0,
          "comes only after others came twice: these are not one run's records");
  }
}

Comparison compare_files(const RecordFile& base, const RecordFile& head, const GateRule& rule,
                         bool any_machine) {
  Arms arms;
  arms.base.add(base);
  arms.head.add(head);
  Comparison comparison;
  comparison.rule = rule;
  comparison.base = base.environment;
  comparison.head = head.environment;
  comparison.mismatches = machine_mismatches(base.environment, head.environment);
  const bool in_turn = interleaved(base, head);
  comparison.verdicts = pair_cases(arms, rule, in_turn ? Order::in_turn : Order::apart);
  int fewest = 0;
  for (Verdict& verdict : comparison.verdicts) {
    if (!verdict.ratio) continue;
    const int rounds = std::min(verdict.ratio->base_rounds, verdict.ratio->head_rounds);
    fewest = fewest == 0 ? rounds : std::min(fewest, rounds);
    if (any_machine || comparison.mismatches.empty()) continue;
    verdict.outcome = VerdictOutcome::env_mismatch;
    verdict.reason = "other machine: " + comparison.mismatches.front();
  }
  comparison.rounds = fewest;
  decide_at_once(comparison.verdicts, rule);
  warn(comparison, in_turn);
  return comparison;
}

}  // namespace collbench

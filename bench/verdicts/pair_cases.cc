// A verdict per case, from the rounds of both sides.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "bench/records/case_names.h"
#include "bench/records/report.h"
#include "bench/verdicts/compare.h"
#include "core/quantile.h"

namespace collbench {
namespace {

constexpr double exact_tolerance = 1e-12;  // of times and bytes: sums in another order

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
  add(exact_figures_differ(one.time.count(), other.time.count()), "simulated time",
      microseconds(one), microseconds(other));
  add(base.algorithm_chosen != head.algorithm_chosen, "algorithm", base.algorithm_chosen,
      head.algorithm_chosen);
  add(one.messages != other.messages, "messages", one.messages, other.messages);
  add(one.rounds != other.rounds, "rounds", one.rounds, other.rounds);
  add(exact_figures_differ(one.busiest_link_bytes, other.busiest_link_bytes),
      "bytes on the busiest link", one.busiest_link_bytes, other.busiest_link_bytes);
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

Verdict pair_case(const Arms& arms, const std::string& key, const GateRule& rule,
                  std::optional<Order> order) {
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
  const bool base_is_wrong =
      std::ranges::any_of(std::array{&arms.base, &arms.again, &arms.fresh_base},
                          [&](const ArmRecords* arm) { return first_wrong(arm->of(key)); });
  if (!verdict.head) {
    verdict.outcome = VerdictOutcome::missing;
    verdict.reason = absence(head, "head");
  } else if (verdict.base && share_skipped(head) > 2 * share_skipped(base)) {
    // What works only now and then must not pass by the times at which it does.
    verdict.outcome = VerdictOutcome::missing;
    verdict.reason =
        fmt::format("in {} of {} rounds {}", skipped(head), head.size(), absence(head, "head"));
  } else if (base_is_wrong) {
    verdict.reason = "base's result is wrong: its time says nothing";
  } else if (!verdict.base) {
    verdict.outcome = VerdictOutcome::added;
    verdict.reason = absence(base, "base");
  } else if (verdict.exact) {
    decide_exact(verdict, first_exact(base), first_exact(head));
  } else if (order) {
    estimate_timed(verdict, arms, key, rule, *order);
  }
  return verdict;
}

}  // namespace

bool exact_figures_differ(double one, double other) {
  return std::abs(one - other) > exact_tolerance * std::max(std::abs(one), std::abs(other));
}

std::vector<Verdict> pair_cases(const Arms& arms, const GateRule& rule,
                                std::optional<Order> order) {
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
  std::vector<Case> cases;
  for (const Verdict& verdict : verdicts) cases.push_back(verdict.point);
  const CaseNames names(cases);
  for (Verdict& verdict : verdicts) verdict.name = names.of(verdict.point);
  return verdicts;
}

}  // namespace collbench

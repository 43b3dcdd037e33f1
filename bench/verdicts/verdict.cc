#include "bench/verdicts/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

namespace {

/// In the order of the enumeration: worst first.
constexpr std::array<std::string_view, 9> outcome_names{"wrong",   "slower",       "missing",
                                                        "changed", "env-mismatch", "inconclusive",
                                                        "faster",  "new",          "same"};

/// "10", or "12 to 143" where cases that were decided had fewer than those that stayed open.
std::string comparison_rounds_text(const Comparison& comparison) {
  int fewest = comparison.rounds;
  for (const Verdict& verdict : comparison.verdicts) {
    if (verdict.ratio) fewest = std::min(fewest, verdict.ratio->head_rounds);
  }
  return fewest < comparison.rounds ? fmt::format("{} to {}", fewest, comparison.rounds)
                                    : std::to_string(comparison.rounds);
}

}  // namespace

const std::vector<VerdictOutcome>& all_outcomes() {
  static const std::vector<VerdictOutcome> outcomes = [] {
    std::vector<VerdictOutcome> all;
    for (std::uint8_t i = 0; i < outcome_names.size(); ++i) all.push_back(VerdictOutcome{i});
    return all;
  }();
  return outcomes;
}

std::string_view to_string(VerdictOutcome outcome) {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

VerdictOutcome parse_outcome(std::string_view name) {
  return static_cast<VerdictOutcome>(index_of("outcome", name, outcome_names));
}

int count(const Comparison& comparison, VerdictOutcome outcome) {
  return static_cast<int>(
      std::count_if(comparison.verdicts.begin(), comparison.verdicts.end(),
                    [&](const Verdict& verdict) { return verdict.outcome == outcome; }));
}

bool compares_nothing(const Comparison& comparison) {
  return std::ranges::none_of(comparison.verdicts, [](const Verdict& verdict) {
    return (verdict.base && verdict.head) || verdict.outcome == VerdictOutcome::wrong;
  });
}

bool fails(const Verdict& verdict, const GateRule& rule) {
  if (verdict.exact && rule.fail_on_exact && !verdict.changes.empty()) return true;
  return std::find(rule.fail_on.begin(), rule.fail_on.end(), verdict.outcome) != rule.fail_on.end();
}

std::vector<const Verdict*> failures(const Comparison& comparison) {
  std::vector<const Verdict*> found = worst_first(comparison);
  std::erase_if(found, [&](const Verdict* one) { return !fails(*one, comparison.rule); });
  return found;
}

const RatioEstimate* deciding(const Verdict& verdict) {
  if (verdict.confirmation) return &*verdict.confirmation;
  return verdict.ratio ? &*verdict.ratio : nullptr;
}

std::optional<double> ratio_of(const Verdict& verdict) {
  if (const RatioEstimate* estimate = deciding(verdict)) return estimate->ratio;
  if (!verdict.base || !verdict.head || verdict.base->typical_ns <= 0) return std::nullopt;
  return verdict.head->typical_ns / verdict.base->typical_ns;
}

std::vector<const Verdict*> worst_first(const Comparison& comparison) {
  std::vector<const Verdict*> order;
  for (const Verdict& verdict : comparison.verdicts) order.push_back(&verdict);
  std::stable_sort(order.begin(), order.end(), [](const Verdict* a, const Verdict* b) {
    if (a->outcome != b->outcome) return a->outcome < b->outcome;
    return ratio_of(*a).value_or(0) > ratio_of(*b).value_or(0);
  });
  return order;
}

std::string percent_text(double ratio) { return fmt::format("{:+.1f} %", (ratio - 1) * 100); }

std::string percent_interval(const RatioEstimate& estimate) {
  return fmt::format("[{:+.1f}, {:+.1f}]", (estimate.low - 1) * 100, (estimate.high - 1) * 100);
}

std::string headline(const Comparison& comparison) {
  const std::size_t cases = comparison.verdicts.size();
  std::vector<std::string> parts;
  for (const VerdictOutcome outcome : all_outcomes()) {
    const int n = count(comparison, outcome);
    if (n > 0) parts.push_back(fmt::format("{} {}", n, to_string(outcome)));
  }
  if (cases == 0) return "no cases";
  return fmt::format("{} {}: {}", cases, cases == 1 ? "case" : "cases", fmt::join(parts, ", "));
}

const RatioEstimate* worst_noise(const Comparison& comparison) {
  const RatioEstimate* worst = nullptr;
  const auto distance = [](const RatioEstimate& estimate) {
    return std::abs(std::log(estimate.ratio));
  };
  for (const Verdict& verdict : comparison.verdicts) {
    if (!verdict.noise) continue;
    if (worst == nullptr || distance(*verdict.noise) > distance(*worst)) worst = &*verdict.noise;
  }
  return worst;
}

double threshold_of(const GateRule& rule, const Case& point) {
  double threshold = rule.threshold;
  for (const CaseThreshold& one : rule.exceptions) {
    if (matches(one.terms, point)) threshold = one.threshold;
  }
  return threshold;
}

std::string method_line(const Comparison& comparison) {
  if (comparison.verdicts.empty()) return "no round was completed";
  const bool timed = std::any_of(comparison.verdicts.begin(), comparison.verdicts.end(),
                                 [](const Verdict& verdict) { return !verdict.exact; });
  if (!timed) return "exact figures, compared for equality";
  std::string line = fmt::format(
      "times are lower quartiles of rounds; threshold {:g} %, family alpha {:g} (Holm), {} rounds",
      comparison.rule.threshold * 100, comparison.rule.alpha, comparison_rounds_text(comparison));
  for (const CaseThreshold& one : comparison.rule.exceptions) {
    line += fmt::format(", {:g} % for {}", one.threshold * 100, one.filter);
  }
  if (comparison.confirm_rounds > 0) {
    line += fmt::format(", {} more for suspects", comparison.confirm_rounds);
  }
  if (const RatioEstimate* noise = worst_noise(comparison)) {
    line += ", A/A at worst " + percent_text(noise->ratio);
    if (std::isfinite(noise->high)) line += " " + percent_interval(*noise);
  }
  return line;
}

}  // namespace collbench

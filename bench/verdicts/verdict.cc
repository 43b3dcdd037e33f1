#include "bench/verdicts/verdict.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

const std::vector<VerdictOutcome>& all_outcomes() {
  static const std::vector<VerdictOutcome> outcomes = {
      VerdictOutcome::wrong,   VerdictOutcome::slower,       VerdictOutcome::missing,
      VerdictOutcome::changed, VerdictOutcome::env_mismatch, VerdictOutcome::inconclusive,
      VerdictOutcome::faster,  VerdictOutcome::added,        VerdictOutcome::same};
  return outcomes;
}

std::string_view to_string(VerdictOutcome outcome) {
  switch (outcome) {
    case VerdictOutcome::wrong:
      return "wrong";
    case VerdictOutcome::slower:
      return "slower";
    case VerdictOutcome::missing:
      return "missing";
    case VerdictOutcome::changed:
      return "changed";
    case VerdictOutcome::env_mismatch:
      return "env-mismatch";
    case VerdictOutcome::inconclusive:
      return "inconclusive";
    case VerdictOutcome::faster:
      return "faster";
    case VerdictOutcome::added:
      return "new";
    case VerdictOutcome::same:
      return "same";
  }
  return "";
}

VerdictOutcome parse_outcome(std::string_view name) {
  std::vector<std::string> names;
  for (const VerdictOutcome outcome : all_outcomes()) {
    if (to_string(outcome) == name) return outcome;
    names.emplace_back(to_string(outcome));
  }
  throw InvalidArgument(unknown_name("outcome", name, names));
}

int count(const Comparison& comparison, VerdictOutcome outcome) {
  return static_cast<int>(
      std::count_if(comparison.verdicts.begin(), comparison.verdicts.end(),
                    [&](const Verdict& verdict) { return verdict.outcome == outcome; }));
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

std::string method_line(const Comparison& comparison) {
  const bool timed = std::any_of(comparison.verdicts.begin(), comparison.verdicts.end(),
                                 [](const Verdict& verdict) { return !verdict.exact; });
  if (!timed) return "exact figures, compared for equality";
  std::string line =
      fmt::format("threshold {:g} %, family alpha {:g} (Holm), {} rounds",
                  comparison.rule.threshold * 100, comparison.rule.alpha, comparison.rounds);
  if (comparison.confirm_rounds > 0) {
    line += fmt::format(", {} more for suspects", comparison.confirm_rounds);
  }
  if (const RatioEstimate* noise = worst_noise(comparison)) {
    line += ", A/A at worst " + percent_text(noise->ratio);
    if (std::isfinite(noise->high)) {
      line += fmt::format(" [{:+.1f}, {:+.1f}]", (noise->low - 1) * 100, (noise->high - 1) * 100);
    }
  }
  return line;
}

}  // namespace collbench

#include "bench/verdicts/verdict_rules.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/verdicts/statistics_ranks.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr double suspect_chance = 0.20;
constexpr double noise_chance = 0.01;
// Each look has half as many rounds again as the one before, so a case is measured at most half
// longer than its decision takes.
constexpr double look_ratio = 1.5;
constexpr double earliest_look = 0.01;  // of the budget
constexpr double last_bits = 1e-12;     // of a ratio: exp() of a logarithm is not the number again

std::vector<double> logarithms(std::span<const double> times) {
  std::vector<double> logs;
  logs.reserve(times.size());
  for (const double time : times) {
    require(time > 0, fmt::format("a ratio needs times above zero, not {} ns", time));
    logs.push_back(std::log(time));
  }
  return logs;
}

std::vector<double> shifted(std::vector<double> values, double by) {
  for (double& value : values) value += by;
  return values;
}

/// Head less base of each round; base is the mean of its measurements in that round.
std::vector<double> paired_differences(const std::vector<double>& base,
                                       const std::vector<double>& head) {
  const std::size_t rounds = head.size();
  const std::size_t repeats = base.size() / rounds;
  std::vector<double> differences = head;
  for (std::size_t i = 0; i < base.size(); ++i) {
    differences[i % rounds] -= base[i] / static_cast<double>(repeats);
  }
  return differences;
}

std::string interval_text(const RatioEstimate& estimate) {
  if (std::isinf(estimate.high)) return percent_text(estimate.ratio) + ", no interval";
  return percent_text(estimate.ratio) + " " + percent_interval(estimate);
}

bool is_open(const Verdict& verdict) {
  return verdict.outcome == VerdictOutcome::inconclusive && verdict.ratio;
}

/// What estimate_ratio() gives at the least, whatever the times are.
double chance_at_least(int base_rounds, int head_rounds, Order order) {
  double chance = 1;  // of all orders of the rounds, one has those of head last
  for (int i = 1; i <= head_rounds; ++i) chance *= static_cast<double>(i) / (base_rounds + i);
  const bool pairs = order == Order::in_turn && head_rounds > 1 && base_rounds % head_rounds == 0;
  return pairs ? std::min(1.0, 2 * std::min(chance, std::exp2(-head_rounds))) : chance;
}

}  // namespace

RatioEstimate estimate_ratio(std::span<const double> base_ns, std::span<const double> head_ns,
                             double threshold, Order order, double confidence) {
  const std::vector<double> base = logarithms(base_ns);
  const std::vector<double> head = logarithms(head_ns);
  const double margin = std::log1p(threshold);
  const bool pairs = order == Order::in_turn && head.size() > 1 && base.size() % head.size() == 0;
  const double level = pairs ? (1 + confidence) / 2 : confidence;  // each, so that both hold
  Shift shift = hodges_lehmann(base, head, level);
  RatioEstimate estimate;
  estimate.p_slower = mann_whitney(shifted(base, margin), head).p_greater;
  estimate.p_faster = mann_whitney(shifted(base, -margin), head).p_less;
  if (pairs) {
    const std::vector<double> differences = paired_differences(base, head);
    const Shift paired = walsh_shift(differences, level);
    if (paired.high - paired.low < shift.high - shift.low) shift = paired;
    const double slower = wilcoxon(shifted(differences, -margin)).p_greater;
    const double faster = wilcoxon(shifted(differences, margin)).p_less;
    estimate.p_slower = std::min(1.0, 2 * std::min(estimate.p_slower, slower));
    estimate.p_faster = std::min(1.0, 2 * std::min(estimate.p_faster, faster));
  }
  estimate.ratio = std::exp(shift.estimate);
  estimate.low = std::exp(shift.low);
  estimate.high = std::exp(shift.high);
  estimate.base_rounds = static_cast<int>(base.size());
  estimate.head_rounds = static_cast<int>(head.size());
  return estimate;
}

RatioEstimate estimate_within_rounds(std::span<const double> base_ns,
                                     std::span<const double> head_ns, std::size_t blocks,
                                     double threshold, double confidence) {
  const std::vector<double> base = logarithms(base_ns);
  const std::vector<double> head = logarithms(head_ns);
  const double margin = std::log1p(threshold);
  const Shift shift = hodges_lehmann(base, head, confidence, blocks);
  RatioEstimate estimate;
  estimate.p_slower = mann_whitney(shifted(base, margin), head, blocks).p_greater;
  estimate.p_faster = mann_whitney(shifted(base, -margin), head, blocks).p_less;
  estimate.ratio = std::exp(shift.estimate);
  estimate.low = std::exp(shift.low);
  estimate.high = std::exp(shift.high);
  estimate.base_rounds = estimate.head_rounds = static_cast<int>(blocks);
  return estimate;
}

bool is_suspect(std::span<const double> base_ns, std::span<const double> head_ns, double threshold,
                Order order) {
  const RatioEstimate plain = estimate_ratio(base_ns, head_ns, 0, order);
  const double lean = std::abs(std::log(plain.ratio));
  return lean > std::log1p(threshold) / 3 &&
         std::min(plain.p_slower, plain.p_faster) < suspect_chance;
}

int rounds_needed(const RatioEstimate& estimate, double threshold) {
  if (std::isinf(estimate.high) || estimate.low <= 0) return 0;
  if (estimate.low > 1 + threshold || estimate.high < 1 / (1 + threshold)) return 0;
  const double width = std::log(estimate.high) - std::log(estimate.low);
  const double room = std::abs(std::log1p(threshold) - std::abs(std::log(estimate.ratio)));
  if (room <= 0 || width <= 0) return 0;
  const int n = std::min(estimate.base_rounds, estimate.head_rounds);
  const double needed = n * std::pow(width / (2 * room), 2);
  return needed > 10'000 ? 0 : std::max(n + 1, static_cast<int>(std::ceil(needed)));
}

void settle(Verdict& verdict, const GateRule& rule) {
  const RatioEstimate& estimate = *deciding(verdict);
  const double threshold = threshold_of(rule, verdict.point);
  if (is_within(estimate, threshold)) {
    verdict.outcome = VerdictOutcome::same;
    verdict.reason = threshold == rule.threshold
                         ? "within the threshold: "
                         : fmt::format("within its threshold of {:g} %: ", threshold * 100);
    verdict.reason += interval_text(estimate);
    return;
  }
  verdict.outcome = VerdictOutcome::inconclusive;
  verdict.rounds_needed = rounds_needed(estimate, threshold);
  verdict.reason = interval_text(estimate);
  if (verdict.rounds_needed > 0) {
    verdict.reason += fmt::format(": would take about {} rounds", verdict.rounds_needed);
  } else if (estimate.low > 1 + threshold || estimate.high < 1 / (1 + threshold)) {
    verdict.reason +=
        ": beyond the threshold, but more rounds are needed to be sure among all cases";
  } else {
    verdict.reason += ": too near the threshold, or too few rounds, to say";
  }
}

void accept(Verdict& verdict, VerdictOutcome outcome, const GateRule& rule) {
  if (noise_differs(verdict.noise)) {
    verdict.outcome = VerdictOutcome::inconclusive;
    verdict.reason = fmt::format("base against itself differs by {}: this machine cannot tell",
                                 interval_text(*verdict.noise));
    return;
  }
  verdict.outcome = outcome;
  verdict.reason = interval_text(*deciding(verdict));
  if (verdict.confirmation) {
    verdict.reason = "confirmed by fresh rounds: " + verdict.reason;
  }
  verdict.reason += fmt::format(", threshold {:g} %", threshold_of(rule, verdict.point) * 100);
}

int rounds_lacking(const std::vector<Verdict>& verdicts, const GateRule& rule, Order order) {
  const auto cases = static_cast<double>(std::ranges::count_if(verdicts, is_open));
  const auto can_show = [&](int base_rounds, int head_rounds) {
    return cases * chance_at_least(base_rounds, head_rounds, order) <= rule.alpha;
  };
  const bool can = std::ranges::any_of(verdicts, [&](const Verdict& one) {
    return is_open(one) && can_show(one.ratio->base_rounds, one.ratio->head_rounds);
  });
  if (cases == 0 || can) return 0;
  int rounds = 1;
  while (!can_show(rounds, rounds)) ++rounds;
  return rounds;
}

void decide_at_once(std::vector<Verdict>& verdicts, const GateRule& rule) {
  std::vector<RatioEstimate> estimates;
  std::vector<Verdict*> open;
  for (Verdict& verdict : verdicts) {
    if (!is_open(verdict)) continue;
    open.push_back(&verdict);
    estimates.push_back(*verdict.ratio);
  }
  const std::vector<VerdictOutcome> outcomes = confirmed(estimates, rule, 1);
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (outcomes[i] == VerdictOutcome::inconclusive) {
      settle(*open[i], rule);
    } else {
      accept(*open[i], outcomes[i], rule);
    }
  }
}

std::vector<int> confirming_looks(int most) {
  std::vector<int> looks;
  for (int look = most; look >= 5 && looks.size() < 3; look /= 2) looks.push_back(look);
  if (looks.empty()) looks.push_back(most);
  std::reverse(looks.begin(), looks.end());
  return looks;
}

std::vector<VerdictOutcome> confirmed(std::span<const RatioEstimate> estimates,
                                      const GateRule& rule, double share) {
  std::vector<double> slower;
  std::vector<double> faster;
  for (const RatioEstimate& estimate : estimates) {
    slower.push_back(estimate.p_slower);
    faster.push_back(estimate.p_faster);
  }
  slower = holm(slower);
  faster = holm(faster);
  const double alpha = rule.alpha * share;
  std::vector<VerdictOutcome> outcomes(estimates.size(), VerdictOutcome::inconclusive);
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (faster[i] <= alpha) outcomes[i] = VerdictOutcome::faster;
    if (slower[i] <= alpha) outcomes[i] = VerdictOutcome::slower;
  }
  return outcomes;
}

std::vector<double> sequential_looks() {
  std::vector<double> looks;
  for (double look = 1; look >= earliest_look; look /= look_ratio) looks.push_back(look);
  std::reverse(looks.begin(), looks.end());
  return looks;
}

double spent_until(double moment) { return moment * moment; }

bool is_within(const RatioEstimate& estimate, double threshold) {
  const double most = (1 + threshold) * (1 + last_bits);
  return estimate.low >= 1 / most && estimate.high <= most;
}

bool noise_differs(const std::optional<RatioEstimate>& noise) {
  return noise && std::min(noise->p_slower, noise->p_faster) < noise_chance;
}

bool is_cleared(const RatioEstimate& fresh, double threshold) {
  return std::min(fresh.p_slower, fresh.p_faster) > 0.5 || is_within(fresh, threshold);
}

}  // namespace collbench

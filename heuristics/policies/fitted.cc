// The choice on a fitted machine: among the methods that were measured there, by the calibration of
// its file, and among names that it can price by their schedules.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/plain_text.h"
#include "heuristics/calibration/fitted_choice.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

/// Those of the type, operator and names asked for; of a method measured in place and out of place,
/// the latter.
std::vector<MethodKey> methods_asked(const Question& question, Answer& answer) {
  const std::span<const MeasuredMethod> measured = question.fitted->measured();
  std::map<std::string, std::size_t> points;
  for (const MeasuredMethod& each : measured) points[each.method.system] += each.points.size();
  const std::string system = fullest_system(points, "the machine was fitted to", answer.warnings);
  const auto same_work = [&](const MethodKey& method) {
    return method.type == question.type && method.op == question.op;
  };
  const bool exact = std::any_of(measured.begin(), measured.end(), [&](const auto& each) {
    return each.method.system == system && same_work(each.method);
  });
  std::map<std::tuple<std::string, std::string, std::string>, MethodKey> asked;
  for (const MeasuredMethod& each : measured) {
    const MethodKey& method = each.method;
    if (method.collective != question.collective) continue;
    if (method.system != system || (exact && !same_work(method))) continue;
    if (!refusal(question, method.algorithm, true).empty()) continue;
    asked.try_emplace({method.library, method.algorithm, method.protocol}, method);
  }
  if (!exact) {
    answer.warnings.push_back(fmt::format("fitted to another type or operator than {} {}",
                                          to_string(question.type), to_string(question.op)));
  }
  std::set<std::string> names;
  std::vector<MethodKey> methods;
  for (const auto& [key, method] : asked) {
    names.insert(method.algorithm);
    methods.push_back(method);
  }
  // Names that may be taken and were not measured, where their schedules can be priced.
  for (const std::string& name : question.available) {
    if (names.count(name) > 0) continue;
    MethodKey other = std::ranges::find(measured, system, [](const auto& each) {
                        return each.method.system;
                      })->method;
    other.collective = question.collective;
    other.algorithm = name;
    other.protocol.clear();
    methods.push_back(other);
  }
  return methods;
}

std::string interval_text(const FittedCandidate& candidate) {
  return fmt::format("80 % within {} to {}; {}{}", to_string(candidate.estimate.low),
                     to_string(candidate.estimate.high), candidate.method.library,
                     candidate.instead.empty() ? "" : ", by its schedule, not measured");
}

/// In the order of `ranked`, and behind them the methods that it lacks.
std::vector<Candidate> candidates_of(const std::vector<FittedCandidate>& ranked,
                                     const std::vector<MethodKey>& methods) {
  const bool several = std::ranges::any_of(
      methods, [&](const MethodKey& method) { return method.library != methods.front().library; });
  const auto candidate = [&](const MethodKey& method) {
    return Candidate{method.algorithm, method.protocol, {}, "", "", several ? method.library : ""};
  };
  std::vector<Candidate> candidates;
  for (const FittedCandidate& each : ranked) {
    candidates.push_back(candidate(each.method));
    candidates.back().time = each.estimate.time;
    candidates.back().terms = interval_text(each);
  }
  for (const MethodKey& method : methods) {
    if (std::ranges::find(ranked, method, &FittedCandidate::method) != ranked.end()) continue;
    candidates.push_back(candidate(method));
    candidates.back().refused = "not priced by the fit at this scale";
  }
  return candidates;
}

void explain_ties(const std::vector<FittedCandidate>& ranked,
                  const std::vector<Candidate>& candidates, Answer& answer) {
  std::vector<std::string> tied;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i].is_tied) tied.push_back(name_of(candidates[i]));
  }
  if (tied.size() < 2) return;
  answer.reason += fmt::format("; within {:.0f} %, which is noise: {}", 100 * tie,
                               fmt::join(tied.begin() + 1, tied.end(), ", "));
}

/// Why the calibration has no method for a question.
std::string why_none(const Question& question, const Scale& scale) {
  const auto have = [&](const auto& is_asked) {
    return std::ranges::any_of(question.fitted->points(), is_asked);
  };
  if (!have([&](const auto& row) { return row.collective == question.collective; })) {
    return fmt::format("no {} was measured", to_string(question.collective));
  }
  const int each = scale.ranks_per_node();
  if (!have([&](const auto& row) { return row.scale.ranks_per_node() == each; })) {
    return fmt::format("{} per node were not measured", counted(each, "rank"));
  }
  if (question.available.empty()) {
    return fmt::format("the fit has no method for {}", to_string(scale));
  }
  return fmt::format("the fit cannot price {}", fmt::join(question.available, ", "));
}

}  // namespace

std::optional<Answer> ask_fitted(const Question& question, std::string& why_not) {
  if (question.fitted == nullptr) return {};
  if (!question.counts.empty()) {
    why_not = "unequal shares were not measured";
    return {};
  }
  Scale scale{question.workers, question.nodes, question.shape};
  if (scale.nodes == 1) scale.cores = question.fitted->cores();
  Answer noted;
  const std::vector<MethodKey> methods = methods_asked(question, noted);
  const auto ranked = rank_methods(*question.fitted, methods, scale, question.bytes);
  if (ranked.empty()) {
    why_not = why_none(question, scale);
    return {};
  }
  const std::vector<Candidate> candidates = candidates_of(ranked, methods);
  const FittedCandidate& best = ranked.front();
  Answer answer = take_fastest(candidates);
  answer.warnings = std::move(noted.warnings);
  answer.take(candidates.front());
  answer.reason = fmt::format("{} with {} (80 % within {} to {}) by the fit to {}",
                              name_of(candidates.front()), to_string(best.estimate.time),
                              to_string(best.estimate.low), to_string(best.estimate.high),
                              best.method.system.empty() ? "measurements" : best.method.system);
  if (best.is_kept) {
    answer.reason += fmt::format("; kept as the fastest that was measured: {} is not surely faster",
                                 name_of(candidates[1]));
  } else if (best.is_default) {
    answer.reason += fmt::format(
        "; the library's own choice, which {} does not beat by enough at a size that was not "
        "measured",
        name_of(candidates[1]));
  } else {
    explain_ties(ranked, candidates, answer);
  }
  if (!best.estimate.extrapolates.empty()) {
    answer.warnings.push_back("extrapolates: " + best.estimate.extrapolates);
  }
  return answer;
}

}  // namespace collbench

// The choice on a fitted machine: among the methods that were measured there, by the calibration of
// its file, and among names that it can price by their schedules.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "heuristics/calibration/fitted_choice.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

/// The system with the most points; the others are named in a warning.
std::string fullest_system(const std::vector<MeasuredMethod>& methods, Answer& answer) {
  std::map<std::string, std::size_t> points;
  for (const MeasuredMethod& each : methods) points[each.method.system] += each.points.size();
  const auto most =
      std::max_element(points.begin(), points.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (points.size() > 1) {
    answer.warnings.push_back(
        fmt::format("the machine was fitted to {} systems; this is '{}', which has the most points",
                    points.size(), most->first));
  }
  return most->first;
}

/// Those of the type, operator and names asked for; of a method measured in place and out of place,
/// the latter.
std::vector<MethodKey> methods_asked(const Question& question, Answer& answer) {
  const std::vector<MeasuredMethod> measured = question.fitted->measured();
  const std::string system = fullest_system(measured, answer);
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
    if (!refusal(question, method.algorithm).empty()) continue;
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
    MethodKey other = measured.front().method;
    other.system = system;
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

void explain_ties(const std::vector<FittedCandidate>& ranked, Answer& answer) {
  std::vector<std::string> tied;
  for (const FittedCandidate& each : ranked) {
    if (each.is_tied) tied.push_back(full_name(each.method.algorithm, each.method.protocol));
  }
  if (tied.size() < 2) return;
  answer.reason += fmt::format("; within {:.0f} %, which is noise: {}", 100 * tie,
                               fmt::join(tied.begin() + 1, tied.end(), ", "));
}

}  // namespace

std::optional<Answer> ask_fitted(const Question& question) {
  if (question.fitted == nullptr || !question.counts.empty())
    return {};  // measured of equal shares
  Scale scale{question.workers, question.nodes, question.shape};
  if (scale.nodes == 1) scale.cores = question.fitted->cores();
  Answer noted;
  const auto ranked =
      rank_methods(*question.fitted, methods_asked(question, noted), scale, question.bytes);
  if (ranked.empty()) return {};
  std::vector<Candidate> candidates;
  for (const FittedCandidate& each : ranked) {
    candidates.push_back(
        {each.method.algorithm, each.method.protocol, each.estimate.time, interval_text(each), ""});
  }
  const FittedCandidate& best = ranked.front();
  Answer answer = take_fastest(std::move(candidates));
  answer.warnings = std::move(noted.warnings);
  answer.algorithm = best.method.algorithm;
  answer.protocol = best.method.protocol;
  answer.reason =
      fmt::format("{} with {} (80 % within {} to {}) by the fit to {}",
                  full_name(answer.algorithm, answer.protocol), to_string(best.estimate.time),
                  to_string(best.estimate.low), to_string(best.estimate.high),
                  best.method.system.empty() ? "measurements" : best.method.system);
  if (best.is_kept) {
    answer.reason +=
        fmt::format("; kept as the fastest at the largest scale measured: {} is not surely faster",
                    full_name(ranked[1].method.algorithm, ranked[1].method.protocol));
  } else if (best.is_default) {
    answer.reason += fmt::format(
        "; the library's own choice, which {} does not beat by enough at a size that was not "
        "measured",
        full_name(ranked[1].method.algorithm, ranked[1].method.protocol));
  } else {
    explain_ties(ranked, answer);
  }
  if (!best.estimate.extrapolates.empty()) {
    answer.warnings.push_back("extrapolates: " + best.estimate.extrapolates);
  }
  return answer;
}

}  // namespace collbench

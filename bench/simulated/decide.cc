// `auto` of a simulated case: which algorithm, and which protocol of the machine's ladder.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/simulated/team.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

// How many of the candidates with the best predictions `auto` plays, and how large they may be.
constexpr std::size_t most_finalists = 5;
constexpr std::int64_t most_final_messages = 150'000;

Outcome predicted(Scenario scenario) {
  scenario.real_data = false;
  return simulate(scenario, Engine::model);
}

/// A candidate of `auto` with its predicted time.
struct Finalist {
  std::string name;
  std::optional<Scenario> scenario;  // none: switches add, and the prediction is the answer
  Seconds time{0};
  std::int64_t messages = 0;
};

/// As many of the best of `candidates`, which are sorted, as a look at the messages is worth: what
/// is predicted to take as long as the last of them differs by what prediction does not see.
void keep_finalists(std::vector<Finalist>& candidates) {
  constexpr double alike = 1.001;
  std::size_t kept = std::min(candidates.size(), most_finalists);
  const Seconds most = alike * candidates[kept - 1].time;
  while (kept < candidates.size() && candidates[kept].time <= most) ++kept;
  candidates.resize(kept, candidates.front());
}

void sort_by_time(std::vector<Finalist>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Finalist& a, const Finalist& b) { return a.time < b.time; });
}

/// The first of the candidates by time, and how it compares with the second.
Choice first_of(const std::vector<Finalist>& candidates, const char* how) {
  const Finalist& best = candidates.front();
  std::string reason = fmt::format("{} {}", how, to_string(best.time));
  if (candidates.size() > 1) {
    reason += fmt::format("; next {} with {}", candidates[1].name, to_string(candidates[1].time));
  }
  return {best.name, reason};
}

/// Prediction sees no contention between rounds, so the best by prediction are played where that is
/// cheap.
Choice decide(std::vector<Finalist> candidates) {
  sort_by_time(candidates);
  keep_finalists(candidates);
  const bool cheap = std::all_of(candidates.begin(), candidates.end(), [](const Finalist& c) {
    return c.messages <= most_final_messages;
  });
  if (!cheap || candidates.size() == 1) return first_of(candidates, "predicted");
  for (Finalist& candidate : candidates) {
    if (!candidate.scenario) continue;
    candidate.scenario->real_data = false;
    candidate.time = simulate(*candidate.scenario).time;
  }
  sort_by_time(candidates);
  return first_of(candidates, "simulated");
}

Question question_of(const Case& point, const Machine& machine) {
  Question question;
  question.bytes = point.bytes;
  question.type = point.type;
  question.op = point.op;
  question.collective = point.collective;
  question.counts = collective_of(point).counts;
  question.workers = group_size(point);
  question.nodes = nodes_of(machine.topology.layout(), question.workers);
  question.machine = &machine;
  return question;
}

}  // namespace

Choice CaseBinder::decide_protocol(const Scenario& scenario) {
  std::vector<Finalist> candidates;
  for (const Protocol& protocol : scenario.machine.costs.protocols) {
    Finalist& candidate = candidates.emplace_back(Finalist{protocol.name, scenario});
    candidate.scenario->protocol = protocol.name;
    const Outcome outcome = predicted(*candidate.scenario);
    candidate.time = outcome.time;
    candidate.messages = outcome.messages;
  }
  return decide(std::move(candidates));
}

std::optional<Choice> CaseBinder::decide_by_fit(const Case& point) {
  const Calibration* const calibration = calibration_on(point);
  std::string remark;
  if (calibration == nullptr || messages_only_) return {};
  Question question = question_of(point, machine_of(point));
  question.fitted = calibration;
  question.nodes = nodes_as_measured(*calibration, question.workers);
  std::vector<Finalist> candidates;
  for (const Candidate& asked : ask(find_policy("auto"), question).candidates) {
    Case candidate = point;
    candidate.algorithm = asked.algorithm;
    if (!asked.refused.empty()) continue;
    if (const std::optional<Measurement> fitted = measure_fitted(candidate, remark)) {
      candidates.push_back({asked.algorithm, std::nullopt, fitted->exact->time, 0});
    }
  }
  if (candidates.empty()) return {};
  sort_by_time(candidates);
  return first_of(candidates, "predicted by the fit");
}

Choice CaseBinder::decide_algorithm(const Case& point) {
  if (std::optional<Choice> by_fit = decide_by_fit(point)) return *std::move(by_fit);
  const Machine& machine = machine_of(point);
  const Question question = question_of(point, machine);
  const bool as_asked = is_as_policies_see_it(point);
  std::vector<Finalist> candidates;
  for (const auto& asked : ask(find_policy("auto"), question).candidates) {
    if (!asked.refused.empty()) continue;
    if (as_asked && candidates.size() == most_finalists) break;  // they are sorted
    Case candidate = point;
    candidate.algorithm = asked.algorithm;
    if (is_in_network(asked.algorithm, machine)) {
      const bool needs_messages = messages_only_ || !need_of_messages(point).empty();
      if (point.collective != CollectiveKind::all_reduce || needs_messages) continue;
      candidates.push_back({asked.algorithm, std::nullopt, *asked.time, 0});
      continue;
    }
    try {
      BoundCase bound = bind(candidate);
      const Outcome outcome = predicted(bound.scenario);
      candidates.push_back({std::move(bound.algorithm), std::move(bound.scenario),
                            as_asked ? *asked.time : outcome.time, outcome.messages});
    } catch (const InvalidArgument&) {
      continue;  // has no such half
    }
  }
  require(!candidates.empty(), fmt::format("no algorithm fits {} workers on {}", point.workers,
                                           point.simulated.topology));
  return decide(std::move(candidates));
}

}  // namespace collbench

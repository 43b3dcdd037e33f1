#include "simulator/simulate.h"

#include <algorithm>

#include <fmt/format.h>

#include "simulator/engines.h"

namespace collbench {
namespace {

// Fluid plays so many in less than a second.
constexpr double few_messages = 2e6;

// Sends of all ranks and rounds, from one round of each run of alike ones and some of the ranks.
double estimated_messages(const Schedule& schedule) {
  const int ranks = schedule.ranks();
  const std::vector<int> runs = schedule.runs();
  const int rank_step = std::max(1, ranks / 256);
  const std::size_t run_step = std::max<std::size_t>(1, runs.size() / 256);
  double messages = 0;
  Round round;
  for (std::size_t i = 0; i < runs.size(); i += run_step) {
    const std::size_t next = i + run_step;
    const int end = next < runs.size() ? runs[next] : schedule.rounds();
    double sends = 0;
    int asked = 0;
    for (Rank r = 0; r < ranks; r += rank_step, ++asked) {
      schedule.round(r, runs[i], round);
      for (const Op& op : round.ops()) sends += op.kind == OpKind::send ? 1 : 0;
    }
    messages += sends * ranks / asked * (end - runs[i]);
  }
  return messages;
}

struct Pick {
  Engine engine;
  std::string why;
};

Pick pick(const Scenario& scenario) {
  if (scenario.real_data) return {Engine::simgrid, "only simgrid moves real data"};
  const double messages = estimated_messages(scenario.schedule);
  if (messages <= few_messages) {
    return {Engine::fluid,
            fmt::format("about {:.3g} messages, few enough to play each of them", messages)};
  }
  if (scenario.trace_limit > 0) {
    return {Engine::fluid, "a trace shows every rank, which only fluid plays"};
  }
  return {Engine::quotient,
          fmt::format("about {:.3g} messages, too many to play each; ranks and links that behave "
                      "alike are played once, which is as exact",
                      messages)};
}

Outcome run(const Scenario& scenario, Engine engine) {
  switch (engine) {
    case Engine::model:
      return simulate_model(scenario);
    case Engine::quotient:
      return simulate_quotient(scenario);
    case Engine::simgrid:
      return simulate_simgrid(scenario);
    case Engine::fluid:
    case Engine::automatic:
      break;
  }
  return simulate_fluid(scenario);
}

}  // namespace

Outcome simulate(const Scenario& scenario, Engine engine) {
  check(scenario);
  if (engine != Engine::automatic) return run(scenario, engine);
  const Pick picked = pick(scenario);
  Outcome outcome = run(scenario, picked.engine);
  outcome.why = picked.why;
  return outcome;
}

}  // namespace collbench

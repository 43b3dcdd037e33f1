#include "simulator/simulate.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/resolve.h"
#include "simulator/engines.h"
#include "simulator/refinement.h"

namespace collbench {
namespace {

// Fluid plays so many in a minute or two; of those that hardly have symmetries quotient takes
// longer.
constexpr double playable_messages = 2e7;
constexpr double most_classes = 0.125;
// Where all rounds differ, finding out which ranks do visits every message: of so many in minutes.
constexpr double visitable_messages = 2e8;

double estimated_messages(const Schedule& schedule) {
  double messages = 0;
  for (const SampledRound& sampled : sample_sends(schedule, 256)) {
    messages += sampled.sends * sampled.rounds;
  }
  return messages;
}

// Whether whole elements make chunks of different sizes.
bool chunks_differ(const Scenario& scenario) {
  if (scenario.equal_chunks) return false;
  const Schedule& schedule = scenario.schedule;
  const int width = size_of(scenario.type);
  const auto place = [&](int c) { return schedule.partition()(c, scenario.count, width); };
  for (int c = 1; c < schedule.chunks(); ++c) {
    if (place(c + 1) - place(c) != place(1) - place(0)) return true;
  }
  return false;
}

// What the caller should know about the times of `engine`, or about how to get them sooner.
std::string remark(const Scenario& scenario, Engine engine) {
  if (engine == Engine::model && scenario.posting == Posting::rendezvous) {
    return "the model posts eagerly; where ranks drift apart or links are contended, rendezvous "
           "takes longer";
  }
  if (engine == Engine::quotient && chunks_differ(scenario)) {
    return fmt::format(
        "{} elements do not divide into {} chunks of one size, which tells all rounds and many "
        "ranks apart; with equal chunks (--equal-chunks) far fewer are played",
        scenario.count, scenario.schedule.chunks());
  }
  return {};
}

struct Pick {
  Engine engine;
  std::string why;
  bool or_fluid = false;  // where hardly any ranks and links behave alike
};

Pick pick(const Scenario& scenario, double few_messages) {
  if (scenario.real_data) return {Engine::simgrid, "only simgrid moves real data"};
  if (scenario.machine.topology.has_ways()) {
    return {Engine::fluid, "messages are spread over several ways, which fluid plays"};
  }
  const double messages = estimated_messages(scenario.schedule);
  if (messages <= few_messages) {
    return {Engine::fluid,
            fmt::format("about {:.3g} messages, few enough to play each of them", messages)};
  }
  if (scenario.trace_limit > 0) {
    return {Engine::fluid, "a trace shows every rank, which only fluid plays"};
  }
  if (messages > visitable_messages && chunks_differ(scenario)) {
    return {
        Engine::model,
        fmt::format("about {:.3g} messages, and {} elements do not divide into {} chunks of "
                    "one size, which tells all rounds apart: too many to visit each, so that "
                    "the times are the model's; with --equal-chunks classes of ranks are played",
                    messages, scenario.count, scenario.schedule.chunks())};
  }
  return {Engine::quotient,
          fmt::format("about {:.3g} messages, too many to play each; ranks and links that behave "
                      "alike are played once, which is as exact",
                      messages),
          messages <= playable_messages};
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

Outcome simulate(const Scenario& scenario, Engine engine, double few_messages) {
  check(scenario);
  Pick picked = engine == Engine::automatic ? pick(scenario, few_messages) : Pick{engine, ""};
  Outcome outcome;
  try {
    outcome =
        picked.or_fluid ? simulate_quotient(scenario, most_classes) : run(scenario, picked.engine);
  } catch (const LittleSymmetry&) {
    picked = {Engine::fluid,
              "hardly any ranks and links behave alike, so that each message is played"};
    outcome = simulate_fluid(scenario);
  }
  const std::string remarked = remark(scenario, picked.engine);
  outcome.why = picked.why;
  if (!remarked.empty()) outcome.why += (picked.why.empty() ? "" : "; ") + remarked;
  return outcome;
}

Seconds played_time(const Schedule& schedule, const Machine& machine,
                    const std::vector<std::pair<int, Seconds>>& stragglers, Bytes bytes) {
  Scenario scenario{.schedule = schedule, .machine = machine};
  scenario.placement.resize(schedule.ranks());
  std::iota(scenario.placement.begin(), scenario.placement.end(), 0);
  scenario.count = std::max<std::int64_t>(1, bytes.count / 4);
  scenario.disturbance.stragglers = stragglers;
  scenario.link_use = false;
  if (machine.costs.protocols.empty()) return simulate(scenario, Engine::fluid).time;
  std::vector<Seconds> times;
  for (const Protocol& protocol : machine.costs.protocols) {
    scenario.protocol = protocol.name;
    times.push_back(simulate(scenario, Engine::fluid).time);
  }
  return *std::ranges::min_element(times);
}

}  // namespace collbench

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "algorithms/resolve.h"
#include "core/error.h"
#include "simulator/engines.h"
#include "simulator/flows.h"
#include "simulator/rank_program.h"

namespace collbench {
namespace {

// Refuses at once what would be refused, or end in a crash, after minutes of filling memory: a
// round with too many messages, each of which needs at least so much. From some ranks and rounds.
void require_room(const Schedule& schedule) {
  constexpr double bytes_per_message = 256;
  double most = 0;
  for (const SampledRound& sampled : sample_sends(schedule, 64)) {
    most = std::max(most, sampled.sends);
  }
  require_memory(static_cast<std::size_t>(most * bytes_per_message),
                 fmt::format("about {:.3g} messages of one round of {}", most, schedule.name()));
}

FlowReport play_matched(RankProgram& program, const FlowOptions& options,
                        const Schedule& schedule) {
  std::string wrong = "a message has no partner";
  try {
    FlowReport report = play(program, options);
    if (program.matched()) return report;
  } catch (const UnmatchedFlows& error) {
    wrong = error.what();
  }
  const std::string first = first_mismatch(schedule);
  throw InvalidArgument(
      fmt::format("{} cannot be played: {}", schedule.name(), first.empty() ? wrong : first));
}

}  // namespace

Outcome simulate_fluid(const Scenario& scenario) {
  require(!scenario.real_data, "engine fluid moves sizes only; simgrid moves real data");
  check(scenario);
  require_room(scenario.schedule);
  const auto program = rank_program(scenario);
  const FlowOptions options{.posting = scenario.posting,
                            .link_use = scenario.link_use,
                            .round_end = true,
                            .trace_limit = scenario.trace_limit};
  FlowReport report = play_matched(*program, options, scenario.schedule);
  Outcome outcome;
  outcome.engine = Engine::fluid;
  outcome.links = std::move(report.links);
  outcome.transfers = std::move(report.transfers);
  outcome.round_end = std::move(report.round_end);
  outcome.messages = report.flows;
  outcome.messages_played = report.flows;
  set_times(*program, report.end, scenario, outcome);
  return outcome;
}

}  // namespace collbench

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "simulator/engines.h"
#include "simulator/flows.h"
#include "simulator/rank_program.h"

namespace collbench {
namespace {

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
  outcome.rank_end = std::move(report.end);
  Seconds first{program->start(0)};
  Seconds last{0};
  for (int r = 0; r < scenario.schedule.ranks(); ++r) {
    Seconds& end = outcome.rank_end[static_cast<std::size_t>(r)];
    end += scenario.machine.costs.per_collective;
    first = std::min(first, program->start(r));
    last = std::max(last, end);
  }
  outcome.time = last - first;
  return outcome;
}

}  // namespace collbench

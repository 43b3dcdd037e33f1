#include "simulator/quotient.h"

#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "simulator/class_program.h"
#include "simulator/engines.h"
#include "simulator/flows.h"
#include "simulator/periodic.h"
#include "simulator/rank_program.h"
#include "simulator/symmetry.h"

namespace collbench {
namespace {

void require_matched(const RankProgram& program, const Schedule& schedule) {
  if (program.matched()) return;
  throw InvalidArgument(
      fmt::format("{} cannot be played: {}", schedule.name(), first_mismatch(schedule)));
}

// Bytes on the wire by link of the program, of all rounds.
std::vector<double> link_bytes(Program& program, const Symmetry& symmetry) {
  std::vector<double> bytes(program.capacities().size(), 0);
  Turn turn;
  for (const Symmetry::Kind& kind : symmetry.kinds()) {
    for (int p = 0; p < program.positions(); ++p) {
      program.turn(p, kind.round, turn);
      for (const Flow& flow : turn.sends) {
        for (const LinkPath::Use& use : program.paths()[flow.path].links) {
          bytes[use.link] += kind.count * use.uses * flow.wire_bytes;
        }
      }
    }
  }
  return bytes;
}

// The end of every position is that of its class.
std::vector<Seconds> ends_of_positions(const Symmetry& symmetry, const FlowReport& played) {
  std::vector<Seconds> ends;
  ends.reserve(static_cast<std::size_t>(symmetry.positions()));
  for (int p = 0; p < symmetry.positions(); ++p) {
    ends.push_back(played.end[symmetry.class_of_position(p)]);
  }
  return ends;
}

}  // namespace

QuotientOutcome play_quotient(const Scenario& scenario) {
  require(!scenario.real_data, "engine quotient moves sizes only; simgrid moves real data");
  require(scenario.trace_limit == 0,
          "engine quotient plays classes of ranks and keeps no trace of "
          "their messages; engine fluid does");
  const auto ranks = rank_program(scenario);
  const Symmetry symmetry(*ranks);
  require_matched(*ranks, scenario.schedule);
  ClassProgram classes(*ranks, symmetry);
  const PeriodicReport report =
      play_periodic(classes, {.posting = scenario.posting, .link_use = scenario.link_use});

  QuotientOutcome result;
  Outcome& outcome = result.outcome;
  outcome.engine = Engine::quotient;
  outcome.messages = symmetry.flows();
  outcome.messages_played = report.played.flows;
  outcome.rank_classes = symmetry.position_classes();
  set_times(*ranks, ends_of_positions(symmetry, report.played), scenario, outcome);
  if (scenario.link_use) {
    const std::vector<double> bytes = link_bytes(classes, symmetry);
    for (LinkId l = 0; l < symmetry.links(); ++l) {
      const int c = symmetry.class_of_link(l);
      outcome.links.push_back({bytes[c], report.played.links[c].busy});
    }
  }
  result.link_classes = symmetry.link_classes();
  result.pair_classes = symmetry.pair_classes();
  result.distinct_rounds = static_cast<int>(symmetry.kinds().size());
  result.rounds_skipped = report.rounds_skipped;
  return result;
}

Outcome simulate_quotient(const Scenario& scenario) { return play_quotient(scenario).outcome; }

}  // namespace collbench

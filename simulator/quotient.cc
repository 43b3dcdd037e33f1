// The fluid engine on classes of ranks that behave alike, with periodic rounds extrapolated.
//
// Exact: the partition is equitable (simulator/symmetry.h), so all members of a class do the same
// at the same times. Symmetry is found and never assumed: stragglers, slow links, uneven chunks or
// an odd network split classes, down to one rank each, which is what engine fluid plays. Uneven
// chunks also make all rounds differ, so that long rings need chunks of equal size.
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "simulator/engines.h"
#include "simulator/flows.h"
#include "simulator/periodic.h"
#include "simulator/program.h"
#include "simulator/rank_program.h"
#include "simulator/symmetry.h"

namespace collbench {
namespace {

// The Program whose positions are the classes of another one's positions.
//
// A flow of a class stands for one flow of each member. A link of class L carries, of every class F
// of pairs, uses = n |F| / |L| flows, where n links of L lie on a path of F.
class ClassProgram : public Program {
 public:
  /// Both must outlive the program. Computes all turns: classes times distinct rounds.
  ClassProgram(Program& members, const Symmetry& symmetry)
      : members_(members), symmetry_(symmetry) {
    for (int l = 0; l < symmetry.link_classes(); ++l) {
      capacities_.push_back(members.capacities()[symmetry.first_link(l)]);
    }
    make_paths();
    const int kinds = static_cast<int>(symmetry.kinds().size());
    rows_.resize(static_cast<std::size_t>(positions()) * static_cast<std::size_t>(kinds));
    pair_to_.resize(static_cast<std::size_t>(symmetry.positions()));
    chosen_for_.assign(static_cast<std::size_t>(symmetry.pair_classes()), -1);
    chosen_.resize(chosen_for_.size());
    for (int c = 0; c < positions(); ++c) {
      const int from = symmetry.first_position(c);
      for (int i = symmetry.first_pair(from); i < symmetry.first_pair(from + 1); ++i) {
        pair_to_[symmetry.pairs()[i].to] = i;
      }
      for (int k = 0; k < kinds; ++k) make_turn(c, k);
    }
  }

  int positions() const override { return symmetry_.position_classes(); }
  int rounds() const override { return members_.rounds(); }
  const std::vector<double>& capacities() const override { return capacities_; }
  const std::vector<LinkPath>& paths() const override { return paths_; }
  void turn(int position, int round, Turn& out) override {
    const Row& row_of_turn = rows_[row(position, symmetry_.kind_of(round))];
    out.sends.assign(sends_.begin() + row_of_turn.begin, sends_.begin() + row_of_turn.end);
    out.arrivals = row_of_turn.arrivals;
    out.reduction = row_of_turn.reduction;
  }

  Seconds start(int position) const override {
    return members_.start(symmetry_.first_position(position));
  }

  std::int64_t pattern(int round) const override { return members_.pattern(round); }

 private:
  void make_paths() {
    std::vector<double> crossings(capacities_.size(), 0);
    paths_.resize(static_cast<std::size_t>(symmetry_.pair_classes()));
    std::vector<bool> made(paths_.size(), false);
    std::vector<int> touched;
    for (std::size_t i = 0; i < symmetry_.pairs().size(); ++i) {
      const int c = symmetry_.class_of_pair(static_cast<int>(i));
      if (made[c]) continue;
      made[c] = true;
      const LinkPath& member = members_.paths()[symmetry_.pairs()[i].path];
      touched.clear();
      for (const LinkPath::Use& use : member.links) {
        const int l = symmetry_.class_of_link(use.link);
        if (crossings[l] == 0) touched.push_back(l);
        crossings[l] += use.uses;
      }
      paths_[c].latency = member.latency;
      paths_[c].level = member.level;
      for (const int l : touched) {
        paths_[c].links.push_back(
            {l, crossings[l] * symmetry_.pairs_in(c) / symmetry_.links_in(l)});
        crossings[l] = 0;
      }
    }
  }

  // Alike pairs of one sender carry the same: the first of them stands for all.
  void make_turn(int position, int kind) {
    members_.turn(symmetry_.first_position(position), symmetry_.kinds()[kind].round, turn_);
    const std::size_t at = row(position, kind);
    rows_[at].reduction = turn_.reduction;
    rows_[at].begin = static_cast<std::uint32_t>(sends_.size());
    for (Flow flow : turn_.sends) {
      const int pair = pair_to_[flow.to];
      const int c = symmetry_.class_of_pair(pair);
      if (chosen_for_[c] != static_cast<std::int32_t>(at)) {
        chosen_for_[c] = static_cast<std::int32_t>(at);
        chosen_[c] = pair;
      }
      if (chosen_[c] != pair) continue;
      flow.to = symmetry_.class_of_position(flow.to);
      flow.path = c;
      ++rows_[row(flow.to, kind)].arrivals;
      sends_.push_back(flow);
    }
    rows_[at].end = static_cast<std::uint32_t>(sends_.size());
  }

  std::size_t row(int position, int kind) const {
    return static_cast<std::size_t>(kind) * static_cast<std::size_t>(positions()) +
           static_cast<std::size_t>(position);
  }

  struct Row {
    std::uint32_t begin = 0;  // of its sends
    std::uint32_t end = 0;
    std::int32_t arrivals = 0;
    Seconds reduction{0};
  };

  Program& members_;
  const Symmetry& symmetry_;
  std::vector<double> capacities_;
  std::vector<LinkPath> paths_;  // by class of pairs
  std::vector<Row> rows_;        // kind by kind
  std::vector<Flow> sends_;
  Turn turn_;
  std::vector<std::int32_t> pair_to_;     // by receiver, for the sender at hand
  std::vector<std::int32_t> chosen_for_;  // by class of pairs: the row that has it, and which pair
  std::vector<std::int32_t> chosen_;
};

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

Outcome simulate_quotient(const Scenario& scenario, double most_classes) {
  require(!scenario.real_data, "engine quotient moves sizes only; simgrid moves real data");
  require(scenario.trace_limit == 0,
          "engine quotient plays classes of ranks and keeps no trace of "
          "their messages; engine fluid does");
  require(!scenario.machine.topology.has_ways(),
          "engine quotient knows one route of each pair; engine fluid plays messages that are "
          "spread over several ways");
  const auto ranks = rank_program(scenario);
  const Symmetry symmetry(*ranks, most_classes);
  require_matched(*ranks, scenario.schedule);
  ClassProgram classes(*ranks, symmetry);
  const FlowReport played =
      play_periodic(classes, {.posting = scenario.posting, .link_use = scenario.link_use});

  Outcome outcome;
  outcome.engine = Engine::quotient;
  outcome.messages = symmetry.flows();
  outcome.messages_played = played.flows;
  outcome.rank_classes = symmetry.position_classes();
  set_times(*ranks, ends_of_positions(symmetry, played), scenario, outcome);
  if (scenario.link_use) {
    const std::vector<double> bytes = link_bytes(classes, symmetry);
    for (LinkId l = 0; l < symmetry.links(); ++l) {
      const int c = symmetry.class_of_link(l);
      outcome.links.push_back({bytes[c], played.links[c].busy});
    }
  }
  return outcome;
}

}  // namespace collbench

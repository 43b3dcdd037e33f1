#include "simulator/class_program.h"

namespace collbench {

ClassProgram::ClassProgram(Program& members, const Symmetry& symmetry)
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

void ClassProgram::make_paths() {
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
      paths_[c].links.push_back({l, crossings[l] * symmetry_.pairs_in(c) / symmetry_.links_in(l)});
      crossings[l] = 0;
    }
  }
}

// Alike pairs of one sender carry the same: the first of them stands for all.
void ClassProgram::make_turn(int position, int kind) {
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

std::size_t ClassProgram::row(int position, int kind) const {
  return static_cast<std::size_t>(kind) * static_cast<std::size_t>(positions()) +
         static_cast<std::size_t>(position);
}

void ClassProgram::turn(int position, int round, Turn& out) {
  const Row& row_of_turn = rows_[row(position, symmetry_.kind_of(round))];
  out.sends.assign(sends_.begin() + row_of_turn.begin, sends_.begin() + row_of_turn.end);
  out.arrivals = row_of_turn.arrivals;
  out.reduction = row_of_turn.reduction;
}

Seconds ClassProgram::start(int position) const {
  return members_.start(symmetry_.first_position(position));
}

}  // namespace collbench

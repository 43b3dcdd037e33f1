// Which positions, links and flows of a Program behave alike.
//
// The vertices of the graph that is refined are positions, links and pairs (sender and receiver
// that talk in some round). A pair is joined to its sender, its receiver and the links of its path;
// its colour is what it carries in every round, a position's is when it starts and what it waits
// and pays for, a link's is its capacity. Alike positions then do alike things at the same times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/program.h"
#include "simulator/refinement.h"

namespace collbench {

class Symmetry {
 public:
  struct Pair {
    std::int32_t from;
    std::int32_t to;
    std::int32_t path;
  };

  /// Asks `program` for the turns of all positions, once for every distinct pattern of rounds.
  /// Requires that links of a path are crossed once. Throws what the program throws, and
  /// LittleSymmetry if more than `most` of the positions, links and pairs differ, as a share.
  explicit Symmetry(Program& program, double most = 1);

  int positions() const { return positions_; }
  int links() const { return links_; }
  /// Classes of positions are numbered from 0, links' follow, then pairs'.
  int position_classes() const { return position_classes_; }
  int link_classes() const { return link_classes_; }
  int pair_classes() const { return classes_.count() - position_classes_ - link_classes_; }

  int class_of_position(int position) const { return classes_.class_of[position]; }
  int class_of_link(LinkId link) const {
    return classes_.class_of[positions_ + link] - position_classes_;
  }
  int class_of_pair(int pair) const {
    return classes_.class_of[positions_ + links_ + pair] - position_classes_ - link_classes_;
  }
  int links_in(int link_class) const { return classes_.size[position_classes_ + link_class]; }
  int pairs_in(int pair_class) const {
    return classes_.size[position_classes_ + link_classes_ + pair_class];
  }
  int first_position(int position_class) const { return classes_.first[position_class]; }
  LinkId first_link(int link_class) const {
    return classes_.first[position_classes_ + link_class] - positions_;
  }

  /// Pairs are sorted by sender; those of one sender are [first_pair(from), first_pair(from + 1)).
  std::span<const Pair> pairs() const { return pairs_; }
  int first_pair(int from) const { return first_pair_[from]; }

  /// The distinct patterns: the first round of each, and the number of rounds that have it.
  struct Kind {
    int round;
    int count;
  };
  std::span<const Kind> kinds() const { return kinds_; }
  int kind_of(int round) const { return kind_of_[round]; }

  /// Flows of all positions and rounds.
  std::int64_t flows() const { return flows_; }

 private:
  friend class Survey;
  int positions_ = 0;
  int links_ = 0;
  int position_classes_ = 0;
  int link_classes_ = 0;
  std::int64_t flows_ = 0;
  std::vector<Pair> pairs_;
  std::vector<std::int32_t> first_pair_;
  std::vector<Kind> kinds_;
  std::vector<std::int32_t> kind_of_;
  Classes classes_;
};

}  // namespace collbench

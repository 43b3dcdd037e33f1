// The Program whose positions are the classes of another one's positions.
//
// A flow of a class stands for one flow of each member. A link of class L carries, of every class F
// of pairs, uses = n |F| / |L| flows, where n links of L lie on a path of F.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/program.h"
#include "simulator/symmetry.h"

namespace collbench {

class ClassProgram : public Program {
 public:
  /// Both must outlive the program. Computes all turns: classes times distinct rounds.
  ClassProgram(Program& members, const Symmetry& symmetry);

  int positions() const override { return symmetry_.position_classes(); }
  int rounds() const override { return members_.rounds(); }
  const std::vector<double>& capacities() const override { return capacities_; }
  const std::vector<LinkPath>& paths() const override { return paths_; }
  void turn(int position, int round, Turn& out) override;
  Seconds start(int position) const override;
  std::int64_t pattern(int round) const override { return members_.pattern(round); }

 private:
  void make_paths();
  void make_turn(int position, int kind);
  std::size_t row(int position, int kind) const;

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

}  // namespace collbench

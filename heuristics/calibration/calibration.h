// A calibration: models of every method that was measured on a system, checked on points held out
// from their fit.
//
// Refused, with the reason: too few points for every method, tables that contradict each other. A
// method with too few points is left out, with a note.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heuristics/calibration/method_model.h"

namespace collbench {

/// Relative errors of predictions: |predicted / measured - 1|.
struct ErrorSummary {
  int points = 0;
  double median = 0;
  double p90 = 0;
  double worst = 0;
  double within = 0;  // share of points inside the 80 % interval; -1: not asked
};
/// Quantiles by linear interpolation (type 7). Zeros for none.
ErrorSummary summarize_errors(std::vector<double> errors);

/// One prediction of a point that was not fitted to.
struct HeldOut {
  MeasuredTime measured;
  Estimate predicted;
  std::string assumed = {};  // what is taken to have been played: "double-tree, LL"; empty: as said
  double error() const { return predicted.time / measured.time - 1; }
};

class Calibration {
 public:
  /// Throws InvalidArgument, saying what is missing or which rows contradict each other.
  explicit Calibration(std::vector<MeasuredTime> rows);

  std::span<const MethodModel> models() const { return models_; }
  const std::vector<std::string>& notes() const { return notes_; }

  /// The model for a method: its own, else of its library with another algorithm or protocol
  /// (`instead` then names it), else none. An empty system, library or algorithm matches any.
  const MethodModel* find(const MethodKey& method, std::string* instead = nullptr) const;

 private:
  std::vector<MethodModel> models_;
  std::vector<std::string> notes_;
};

/// Predicts all points of every scale (or size) from a calibration without them. A scale can be
/// held out if another one remains of its system and library; one that cannot is reported in
/// `notes`. Single nodes are held out last or not at all: what is inside a node shows in no other
/// scale, so they are held out only with `single_nodes`.
std::vector<HeldOut> leave_one_scale_out(std::span<const MeasuredTime> rows, bool single_nodes,
                                         std::vector<std::string>& notes);
std::vector<HeldOut> leave_one_size_out(std::span<const MeasuredTime> rows);

ErrorSummary summarize_held_out(std::span<const HeldOut> held, Bytes least = {},
                                Bytes most = {std::int64_t{1} << 62});

}  // namespace collbench

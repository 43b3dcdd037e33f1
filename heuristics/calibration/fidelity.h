// Predictions of measured rows from a machine, by the best model that it has.
//
// A file of `calibrate` predicts with its models. Any other machine predicts rows of NCCL with
// NCCL's cost model of it (heuristics/nccl/nccl_model.h) and rows of our own algorithms with
// predict(); other rows cannot be predicted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/calibration/calibration.h"

namespace collbench {

class Predictor {
 public:
  /// `machine` as a file of `calibrate` or as for --topo; its size is that of each row. Throws
  /// InvalidArgument and Unavailable for what is no machine.
  explicit Predictor(const std::string& machine);
  explicit Predictor(Calibration calibration);

  /// What it predicts with; null for a machine that was not fitted.
  const Calibration* calibration() const { return calibration_ ? &*calibration_ : nullptr; }

  /// What can be predicted; of the rest `notes` say why, once for each reason.
  std::vector<HeldOut> predict_all(std::span<const MeasuredTime> rows,
                                   std::vector<std::string>& notes) const;

 private:
  Estimate predict_row(const MeasuredTime& row, std::string& note) const;

  std::string machine_;
  std::optional<Calibration> calibration_;
};

}  // namespace collbench

// Predictions of measured rows from a machine, by the best model that it has.
//
// A file of `calibrate` predicts with its models the methods that it knows. Any other machine
// predicts rows of NCCL and RCCL as what the library would play there
// (heuristics/nccl/library_times.h), and rows of our own algorithms with predict(). Other rows
// cannot be predicted.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/calibration/calibration.h"
#include "heuristics/nccl/library_times.h"

namespace collbench {

/// What a row of NCCL or RCCL asked of the library. Throws InvalidArgument for an algorithm or a
/// protocol that it does not have.
LibraryQuestion library_question(const MeasuredTime& row);

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

  /// Where a row of NCCL or RCCL ran, as the library sees it; none for a machine that was fitted,
  /// of which only its times are known. Throws InvalidArgument if the row does not fit the machine.
  std::optional<NcclInputs> library_inputs(const MeasuredTime& row, std::string& note) const;

 private:
  HeldOut predict_row(const MeasuredTime& row, std::string& note) const;
  HeldOut predict_by_fit(const MeasuredTime& row, std::string& note) const;

  std::string machine_;
  std::optional<Calibration> calibration_;
};

}  // namespace collbench

// The tables of nccl-tests that a fit of the constants of NCCL's times reads, and those constants.
// Used by collbench_library_fit alone. Times are in microseconds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heuristics/nccl/library_times.h"
#include "heuristics/structure/robust_fit.h"

namespace collbench {

struct StudiedPoint {
  LibraryQuestion question;
  NcclTime play;
  double measured_us = 0;
};
struct StudiedTable {
  std::string name;
  std::string system;
  bool is_fitted = true;
  NcclInputs inputs;
  std::vector<StudiedPoint> points;
};

/// What a constant changes before a table is predicted: the library, and the table's machine.
struct Predicted {
  const StudiedTable& table;
  LibraryConstants& library;
  NcclInputs& inputs;
};
struct StudiedConstant {
  std::string name;
  ConstantPrior prior;
  std::function<void(const Predicted&, double value)> apply;
};

/// The library's, one for each generation and network that the tables have, and last two for each
/// system: its rate and its latency.
std::vector<StudiedConstant> studied_constants(const std::vector<StudiedTable>& tables);

}  // namespace collbench

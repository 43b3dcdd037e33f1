// The options of `collbench select`, and the questions they ask.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "heuristics/calibration/calibration.h"
#include "heuristics/nccl/nccl_model.h"
#include "heuristics/policies/policy.h"
#include "topologies/machine.h"

namespace collbench {

std::span<const OptionRow> select_option_rows();

/// Questions and all that they point to.
struct Inquiry {
  std::vector<const Policy*> policies;
  std::vector<Question> questions;    // one per number of workers
  std::string network;                // in words: "dgx-a100", "shm on 2 cores"
  std::vector<Machine> machines;      // one per question, or none
  std::optional<Calibration> fitted;  // of the machine's file
  std::unique_ptr<NcclInputs> nccl;
  std::vector<MeasuredTime> measured;
  std::vector<std::string> notes;  // about the measurements
};

/// Throws InvalidArgument, naming the option and where it was set, for a value that is wrong.
Inquiry inquiry_of(const Settings& settings);

}  // namespace collbench

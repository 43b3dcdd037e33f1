// Checkpoints: the state of training in safetensors files, one for each saved step.
//
// FOLDER/step-000000120.safetensors holds each tensor of the model by its name, the optimizer's
// slots as "optimizer/m/NAME", moving statistics by their names, and in its metadata the step and
// the settings of the plan that decide what comes next. A file appears whole or not at all: it is
// written under another name, flushed to the device, and renamed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "training/replica.h"
#include "training/training_state.h"

namespace collbench {

std::string encode_checkpoint(const TrainingPlan& plan, const TrainingState& state);

/// What is wrong with the bytes of a checkpoint, by its own checksum; "" if nothing is.
std::string damage_of(std::string_view file);

/// Throws InvalidArgument, led by `name`, for a file that is no checkpoint of ours, is damaged, or
/// belongs to a plan that would go on differently. The number of replicas may differ.
TrainingState decode_checkpoint(std::string_view file, const TrainingPlan& plan,
                                const std::string& name);

/// Thread safety: one thread; one process may save.
class CheckpointFolder {
 public:
  /// The latest `keep` files stay.
  explicit CheckpointFolder(std::string path, int keep = 3);

  /// Keeps other trainings out until it is closed: one would remove what another one is writing.
  /// Makes the folder if need be. Throws InvalidArgument if another process has it; Unavailable as
  /// save(). A file system without locks keeps none out.
  Descriptor lock() const;
  /// Makes the folder if need be. Throws Unavailable if it or a file cannot be
  /// written, Error if the disk is full; both name it.
  void save(std::string_view file, std::int64_t step) const;
  /// The files by step, the latest last.
  std::vector<std::string> files() const;
  /// The file of the highest step; nothing if there is none, or no folder.
  std::optional<std::string> latest() const;

 private:
  std::string path_;
  int keep_;
};

/// Throws Unavailable if it cannot be read.
std::string read_checkpoint(const std::string& path);

}  // namespace collbench

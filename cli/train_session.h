// What accompanies a training run: progress, checkpoints, event files, and requests to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/terminal.h"
#include "cli/train_options.h"
#include "training/checkpoint.h"
#include "training/event_file.h"
#include "training/replica.h"

namespace collbench {

/// Thread safety: one thread; the hooks may be called on another one while it waits.
class TrainSession {
 public:
  /// Throws InvalidArgument for options that contradict each other or a folder that holds another
  /// run's checkpoints or is another one's now, Unavailable for files that cannot be written. Only
  /// the chief touches files.
  TrainSession(const Settings& settings, const TrainingPlan& plan, bool chief);

  /// Checkpoints are of these samples, divided among `replicas` as the plan says: those of others
  /// are refused. Call before the next two.
  void use(const Dataset& samples, int replicas);
  /// The checkpoint to go on from, read by the chief; "" to begin anew.
  std::string file_to_resume() const;
  /// Goes on from a file that file_to_resume() gave, here or on the chief; "" does nothing.
  void resume(const std::string& file);
  /// Reports on standard error where the run goes on. Call once the data are known.
  void begin(std::int64_t steps_per_epoch);
  /// All of the above for the replicas of the plan in this process, or for this chief; returns its
  /// data. Throws as samples_of() and check() do.
  Samples prepare();

  ReplicaHooks hooks();
  /// Clears the line, notes the result and calls `show`; returns the exit code: 143 or 130 if this
  /// rank was asked to stop. Throws TransportError if another one was.
  int finish(
      const ReplicaReport& report, Rank rank, const std::function<void()>& show = [] {});

 private:
  void show(const Progress& now);

  const Settings& settings_;
  TrainingPlan plan_;
  bool chief_;
  ProgressLine line_;
  std::string folder_;
  Descriptor lock_;  // of the folder
  std::optional<TrainingState> start_;
  std::unique_ptr<EventFile> events_;
  std::int64_t steps_per_epoch_ = 1;
};

}  // namespace collbench

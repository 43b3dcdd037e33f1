// How `collbench ab` runs its two arms: each time a fresh process, of which it gets records.
//
// An arm is a collbench that gets the caller's arguments and `--json FILE` (AbRunner), or any
// command whose output is read (ab_command.h). A variable of random length in the environment moves
// the stack, so that an accident of memory layout is drawn anew each time instead of being taken
// for a difference between the versions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/verdicts/ab.h"
#include "core/random.h"
#include "core/scratch_folder.h"
#include "transports/world/worker_process.h"

namespace collbench {

/// Runs processes one after another in a scratch folder. Thread safety: belongs to one thread.
class AbProcess {
 public:
  /// `stop_requested` is looked at while a process runs, which is then ended.
  AbProcess(Seconds timeout, std::uint64_t seed, std::function<std::string()> stop_requested);

  /// A path in the folder, which is removed with this.
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// How the process ended, as ChildProcess says it; nothing if a stop was requested. `name` leads
  /// messages. Throws Unavailable if it cannot be started and TransportError if it hung.
  std::optional<std::string> run(const std::string& name, const std::vector<std::string>& words,
                                 const std::vector<std::string>& variables, ChildStreams streams);

 private:
  Seconds timeout_;
  std::function<std::string()> stop_requested_;
  RandomEngine random_;
  ScratchFolder folder_;
};

struct AbBinaries {
  std::string base;  // programs; they may be the same
  std::string head;
  std::vector<std::string> arguments;  // of `run` (or `simulate ...`), the same for both
  Seconds timeout{600};                // of one process
  std::uint64_t seed = 1;              // of the moves
  Seconds case_time{0.05};             // --max-time, unless the arguments say how long
};

/// Thread safety: belongs to one thread.
class AbRunner {
 public:
  /// Throws InvalidArgument for arguments that ab gives itself (--json, --run-cycles).
  AbRunner(AbBinaries binaries, std::function<std::string()> stop_requested);

  /// The records of one process; nothing if a stop was requested. Throws Unavailable if it cannot
  /// be started and TransportError, with how it ended, if it failed or hung.
  std::optional<RecordFile> measure(const AbTask& task);

 private:
  std::vector<std::string> command(const AbTask& task) const;

  AbBinaries binaries_;
  AbProcess process_;
};

/// Leaves the records of the cases that are asked for.
void keep_asked(RecordFile& file, const AbTask& task);

}  // namespace collbench

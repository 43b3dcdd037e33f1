// How `collbench ab` runs the two binaries: each time a fresh process that writes its records.
//
// The process gets the caller's arguments and `--json FILE`. A variable of random length in its
// environment moves its stack, so that an accident of memory layout is drawn anew each time instead
// of being taken for a difference between the versions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/verdicts/ab.h"
#include "core/random.h"

namespace collbench {

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
  /// `stop_requested` is looked at while a process runs, which is then ended.
  AbRunner(AbBinaries binaries, std::function<std::string()> stop_requested);
  ~AbRunner();
  AbRunner(const AbRunner&) = delete;
  AbRunner& operator=(const AbRunner&) = delete;

  /// The records of one process; nothing if a stop was requested. Throws Unavailable if it cannot
  /// be started and TransportError, with how it ended, if it failed or hung.
  std::optional<RecordFile> measure(const AbTask& task);

 private:
  std::vector<std::string> command(const AbTask& task) const;

  AbBinaries binaries_;
  std::function<std::string()> stop_requested_;
  RandomEngine random_;
  std::string folder_;
};

}  // namespace collbench

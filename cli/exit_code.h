// The exit codes of `collbench`; docs/exit-codes.md explains them to users.
#pragma once

#include <csignal>

#include "core/stop_request.h"

namespace collbench {

enum ExitCode : int {
  exit_ok = 0,
  exit_gate_failed = 1,    // a measured figure misses --min-busbw
  exit_usage = 2,          // a flag, file or setting is wrong
  exit_wrong_result = 3,   // a sum differs from the exact one, or a schedule is not an all-reduce
  exit_unavailable = 4,    // a back end or file is not present here
  exit_failed = 5,         // a worker was lost, hung or disagreed; memory ran out
  exit_undecided = 6,      // what was measured does not tell whether it passes
  exit_skipped = 77,       // nothing could run, and --skip-unavailable was given
  exit_interrupted = 130,  // Ctrl-C; what was measured is kept
  exit_terminated = 143,   // SIGTERM; likewise
};

/// 130 or 143 for the signal that asked the run to stop after the case that is being measured.
/// Requires that one came.
inline int interrupt_exit_code() {
  return stop_signal() == SIGINT ? exit_interrupted : exit_terminated;
}

}  // namespace collbench

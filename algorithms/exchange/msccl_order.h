// Which steps of an MSCCL program are over before which others start, whichever blocks run first.
#pragma once

#include <array>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/exchange/msccl_program.h"

namespace collbench {

/// A step that was done in a run of the program.
struct MscclDone {
  Rank gpu = 0;
  int block = 0;  // index into MscclGpu::blocks
  int step = 0;
  /// Places in the run, -1 for none: of the step before in its block, of the step that it waited
  /// for, and of the step that sent what it received.
  std::array<int, 3> after = {-1, -1, -1};
};

/// Requires that two steps of a gpu that use a chunk, and do not both only send it, are in the same
/// order in every run: by the order of steps in a block, by waits and by messages. Then one run
/// shows what all of them do. Requires too that no chunk is used, or left as a result of `kind`,
/// whose sum an "rrs" passed on and did not keep. `run` has every step once, after what it came
/// after. Throws InvalidArgument naming the two steps, or the one.
void check_order(const MscclProgram& program, const std::vector<MscclDone>& run,
                 CollectiveKind kind);

}  // namespace collbench

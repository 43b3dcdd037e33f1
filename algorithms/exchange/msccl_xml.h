// Schedules as MSCCL XML, the program format of the MSCCL runtimes (Microsoft MSCCL, RCCL).
//
// There, every thread block of a GPU runs its steps in order, and a step may wait for one step of
// another block. Exported schedules give each pair of ranks one block per direction, on as many
// channels as their peers need; chunks are the slices of an in-place buffer. A buffer too large for
// one run of the program is played by several that follow each other, so it needs no small pieces.
// What the format cannot say is lost: the partition of the buffer, the place of the own term in a
// fold (one-shot then adds it first, and ranks may differ in rounding) and the grouping of folds.
#pragma once

#include <string>
#include <string_view>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"

namespace collbench {

/// An all-reduce, reduce-scatter or all-gather in place; the halves name chunks of the larger
/// buffer. Throws InvalidArgument for a collective with a root.
std::string to_msccl_xml(const Schedule& schedule,
                         CollectiveKind kind = CollectiveKind::all_reduce);

/// What the runtimes take: steps of a thread block, chunks, and thread blocks of a GPU, whose
/// numbers a dependence keeps in a signed byte. Source: msccl_struct.h of RCCL (0088a127) and of
/// Azure/msccl-executor-nccl (206e0c49); microsoft/msccl took 256 steps.
inline constexpr int most_msccl_steps = 64;
inline constexpr int most_msccl_chunks = 32767;
inline constexpr int most_msccl_blocks = 128;

/// How large a program is.
struct MscclSize {
  int steps = 0;   // of the longest thread block, those that only wait included
  int blocks = 0;  // of the GPU that has most
  int chunks = 0;
  bool fits() const {
    return steps <= most_msccl_steps && blocks <= most_msccl_blocks && chunks <= most_msccl_chunks;
  }
};
MscclSize msccl_size(const Schedule& schedule);
/// "142 thread blocks of up to 64 steps and 72 chunks; runtimes of MSCCL take 128, 64 and 32767".
std::string to_string(const MscclSize& size);

/// Reads one of these in place, without scratch buffers, whose messages keep their offset, and puts
/// its steps into the earliest rounds their data allow. Offsets in the smaller buffer of a half
/// count from the rank's share. Checks form, matching, progress and that every run does the same
/// (msccl_order.h), not that it is what `kind` asks for: see verify(). A "rrs" step becomes one
/// that also stores its sum, so what it leaves may not be used. Throws InvalidArgument naming the
/// element and what would be right.
Schedule from_msccl_xml(std::string_view xml, CollectiveKind kind = CollectiveKind::all_reduce);

}  // namespace collbench

// Schedules of others as algorithms: `file:PATH` is the all-reduce, reduce-scatter or all-gather
// that an MSCCL XML program is.
#pragma once

#include "algorithms/registry.h"

namespace collbench {

/// The row of `file`. What it needs and promises depends on the file, so it is in no list of all
/// algorithms. A program is read, and proved to be what is asked for, each time that it is made;
/// WrongResult says why one is not, and InvalidArgument why it cannot be read or is for another
/// number of ranks, both with the path.
/// Every machine of a run reads its own file: they must be equal.
const AlgorithmInfo& schedule_file();

/// What the row makes, as any collective. Throws the same, and for a collective with a root.
Schedule schedule_from_file(const AlgorithmSpec& spec, int ranks, CollectiveKind kind);

/// Whether the program leaves bitwise equal sums on all ranks. Throws as making it does.
bool is_schedule_file_consistent(const AlgorithmSpec& spec);

}  // namespace collbench

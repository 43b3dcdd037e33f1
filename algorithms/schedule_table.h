// A schedule as a table to read: one line per rank, one column per round.
#pragma once

#include <string>

#include "algorithms/schedule.h"

namespace collbench {

/// Cells list operations: "3>1" sends chunk 3 to rank 1, "3<1" stores chunk 3 from rank 1, "3+1"
/// adds it; "0-3>1" is a range of chunks, "own" the place of the own term in a fold, "." idleness.
/// Rounds that do not fit into `width` characters continue in further blocks of lines.
std::string to_table(const Schedule& schedule, int width = 100);

}  // namespace collbench

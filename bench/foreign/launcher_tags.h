// What launchers put before each line that a program prints: "[1,0]<stdout>:" of mpirun
// --tag-output, "[0] " of MPICH's and Intel's mpiexec -l, "0: " of srun -l.
#pragma once

#include <string>
#include <string_view>

namespace collbench {

/// The tag that a line begins with; empty if there is none.
std::string_view launcher_tag(std::string_view line);

/// The lines of the rank that printed a benchmark's table, without their tags; those of others are
/// empty, so that numbers of lines stay. `text` as it is where the heading has no tag.
std::string without_launcher_tags(std::string_view text);

}  // namespace collbench

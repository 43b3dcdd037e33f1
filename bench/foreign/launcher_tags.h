// What launchers put before each line that a program prints: "[1,0]<stdout>:" of mpirun
// --tag-output, "[0] " of MPICH's and Intel's mpiexec -l, "0: " of srun -l. And what log collectors
// do: the pod and the time of kubectl logs --prefix --timestamps, "[host] ", "launcher-0: ", and
// other words and times, "launcher-0 main ", syslog's "Nov 30 06:02:42 node1 app[123]: ".
#pragma once

#include <string>
#include <string_view>

namespace collbench {

/// The tag that a line begins with; empty if there is none.
std::string_view launcher_tag(std::string_view line);

/// The lines of the rank that printed a benchmark's table, without what stands before them; those
/// of other ranks are empty, so that numbers of lines stay. Words and times before a heading go up
/// to five times, those of other writers of tables included. `text` as it is where neither the
/// heading nor a row of nccl-tests has something before it.
std::string without_launcher_tags(std::string_view text);

/// What stands before a heading in what without_launcher_tags() gave: the words of another writer
/// of a table. Empty if there is none.
std::string other_table_writer(std::string_view plain);

}  // namespace collbench

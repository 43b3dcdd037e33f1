// How many processes a command asks a launcher for: which gives the scale of tables that do not
// state it, as those of MPI benchmarks, where the command stands above them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heuristics/measurement.h"

namespace collbench {

/// Reads the lines of a text one after another.
class BenchmarkCommand {
 public:
  /// A line that ends in a backslash goes on in the next one.
  void add(std::string_view line);

  /// The processes, and their nodes where they are said, of the last command so far with mpirun,
  /// mpiexec, srun and their like before a benchmark (osu_allreduce, IMB-MPI1, all_reduce_perf).
  /// Nothing if it does not say how many.
  const std::optional<Scale>& scale() const { return scale_; }

 private:
  std::string command_;
  std::optional<Scale> scale_;
};

}  // namespace collbench

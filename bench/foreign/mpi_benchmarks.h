// Tables of MPI's benchmarks, whatever they measured: the OSU Micro-Benchmarks and Intel's (IMB).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

struct MpiBenchmark {
  std::string title;  // "OSU MPI Allreduce Latency Test", "IMB Allreduce, 8 processes"
  bool is_all_reduce = false;
  std::string elements;             // "MPI_INT", with IMB's operator behind it; empty: not said
  std::vector<MeasuredTime> times;  // their scale is 0 where nothing states it
};

/// All tables of a text, in its order. The scale is what IMB states, and of OSU's what the command
/// above a table asked for (benchmark_command.h). Sizes without a time, which IMB gives up, are
/// left out with a note, as are tables that hold no latencies by size. Times of 0 bytes are kept
/// where they are above 0. Throws InvalidArgument as FILE:LINE: for a row that does not fit its
/// heading.
std::vector<MpiBenchmark> mpi_benchmarks_in(std::string_view text, const std::string& file,
                                            std::vector<std::string>& notes);

}  // namespace collbench

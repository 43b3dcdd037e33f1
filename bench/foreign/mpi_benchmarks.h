// Tables of MPI's benchmarks, whatever they measured: the OSU Micro-Benchmarks and Intel's (IMB).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "heuristics/measurement.h"

namespace collbench {

/// What the sizes of a table count: the larger buffer of a rank, one rank's share of it, or such a
/// buffer of which only whole equal shares take part, of so many elements.
enum class CountedBytes : std::uint8_t { vector, share, whole_shares, untold };

struct MpiBenchmark {
  std::string title;  // "OSU MPI Allreduce Latency Test", "IMB Allreduce, 8 processes"
  std::optional<CollectiveKind> collective;  // nothing for what is none of ours
  CountedBytes counted = CountedBytes::vector;
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

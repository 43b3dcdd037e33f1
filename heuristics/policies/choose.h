// What `--algo auto` picks among workers of one host, and why: by measured times where this number
// of workers was measured on as many cores (local_times()), otherwise by a
// short rule from message and byte costs.
//
// Where workers see each other's memory, `direct` is played as one pass over all buffers and moves
// the fewest bytes possible, so it is best at every size. Over gRPC a message costs about 12 us of
// CPU time and a byte about 0.33 ns (both ends, addition included; 2 cores of a 2.x GHz server
// CPU), so that
//
//   time of one core = 12 us * messages + 0.33 ns * bytes, shared by the cores.
//
// With N workers, one-shot sends N(N-1) messages in one hop, direct 2N(N-1) in two,
// reduce-broadcast only 2(N-1). Small vectors are ruled by messages, large ones by bytes, where
// direct sends 2(N-1)/N of the vector per worker as the ring does, with 2 hops instead of 2(N-1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "core/data_type.h"
#include "core/shipped_file.h"
#include "core/units.h"
#include "heuristics/measurement.h"

namespace collbench {

/// How the ranks of a back end reach each other's data, which decides what is best on it; `own`:
/// its library chooses among algorithms of its own.
enum class ChoiceKind : std::uint8_t { shared_memory, gpu_memory, messages, own };

struct Choice {
  std::string
      algorithm;       // as parse_algorithm_spec reads it; "gloo" and "mpi" choose for themselves
  std::string reason;  // in words, with the numbers it rests on
  /// Others that may be as fast here, likeliest first: what was measured within 1.6 times the
  /// choice on another processor, or what messages and bytes speak for. All leave replicas equal.
  std::vector<std::string> rivals = {};
};

/// Chooses for `workers` on `cores` cores and a vector of `bytes`. The data type and operator do
/// not change the choice among schedules today; they are arguments because they will. `backend` is
/// the name under which times were measured.
Choice choose(std::string_view backend, ChoiceKind kind, int workers, Bytes bytes, DataType type,
              ReduceOp op, int cores, CollectiveKind collective = CollectiveKind::all_reduce);

// The built-in table of all-reduce times inside one host, with which `auto` chooses until the user
// has measured.
//
// heuristics/policies/local_times.csv: back end, cores, workers, bytes, algorithm, median, lower
// and upper quartile in microseconds, samples; f32, sum, workers pinned one to a core in turn. It
// is part of the library. bench/auto_regret.py --table writes such a file on any machine.
//
// The time of a row is Tukey's trimean, (lower quartile + 2 medians + upper quartile) / 4: with
// more workers than cores some algorithms have two modes, and which of them holds the median
// differs from run to run.

/// The rows for a back end on so many cores; none if that was not measured. The system is "N
/// cores".
std::vector<MeasuredTime> local_times(std::string_view backend, int cores);

/// local_times.csv, as part of the library.
std::span<const ShippedFile> local_times_files();

}  // namespace collbench

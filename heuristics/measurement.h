// A measured time of one collective, mostly an all-reduce: the common form of our own records,
// nccl-tests and OSU tables, and published figures, for calibration, regret and measured policies.
//
// One measurement is one row of such a table: how long an all-reduce of `bytes` per rank took with
// this library and algorithm on so many ranks of a system. Values missing in a source are empty, 0
// or equal to their neighbour, never guessed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "core/data_type.h"
#include "core/units.h"

namespace collbench {

/// Axes of a torus or mesh, the unused ones 0.
using GridShape = std::array<int, 6>;

/// How many ranks and where: `ranks` of them spread evenly over `nodes`.
struct Scale {
  int ranks = 0;
  int nodes = 0;      // 0: not known
  GridShape shape{};  // of the nodes; zeros: the source does not say
  int cores = 0;      // of a host whose ranks share them; 0: not known, or more than one node
  /// 0 if the nodes are not known.
  int ranks_per_node() const { return nodes > 0 ? ranks / nodes : 0; }
  /// Whether all ranks share the cores of one host.
  bool is_host() const { return nodes == 1 && cores > 0; }
  /// What larger scales have more of: ranks on one host, else nodes, of which those not known count
  /// as one.
  int extent() const { return is_host() ? ranks : nodes > 0 ? nodes : 1; }
  auto operator<=>(const Scale&) const = default;
};

struct MeasuredTime {
  std::string system;     // "abci-v100"; empty: the source does not say
  std::string library;    // "nccl", "openmpi 4.1.5", "shm"
  std::string algorithm;  // "ring"; "auto": the library's own choice
  std::string protocol;   // "LL"; empty: the library's own choice
  Scale scale;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = false;
  CollectiveKind collective = CollectiveKind::all_reduce;
  int root = 0;
  std::string groups;  // "2x4", of ranks that run it side by side; empty: one of all
  std::string counts;  // elements of each rank's share; empty: equal shares
  Bytes bytes;         // vector of one rank
  Seconds time{0};     // median, or the mean where the source has only that
  Seconds low{0};      // p10 or minimum, and p90 or maximum; equal to `time` if not known
  Seconds high{0};
  int samples = 0;           // 0: not known
  int gpus_per_process = 1;  // that one process drives: `-g` of nccl-tests
  bool mean = false;         // `time` is a mean
  std::string batch;         // the run or job that it was measured in; empty: not known
  std::int64_t wrong = -1;   // elements unlike the exact result; -1: not checked
  std::string buffers;       // "cold", as bench/records/case.h names them; empty: not known
  /// Such a time counts nowhere.
  bool is_wrong() const { return wrong > 0; }
};

/// One file or part of one, with where it comes from.
struct MeasuredTable {
  std::string name;                // of the file, without its folder
  std::string source;              // as the file states it
  std::string hardware;            // "NVIDIA H100 80GB HBM3", as the file states it; may be empty
  std::vector<std::string> hosts;  // their names, where the file has them
  std::vector<MeasuredTime> times;
  std::vector<std::string> notes;  // what was left out when reading, and why
};

/// Whether the name stands for what the library takes by itself: "auto", "default",
/// "default_mpich", "default-default". Fujitsu's "default-ring" is an algorithm, not a choice.
bool is_library_default(const std::string& algorithm);

/// Whether the library is NCCL or RCCL, of whichever version: "nccl", "NCCL 2.20.3".
bool is_nccl(std::string_view library);

/// Ranges of sizes that reports tell apart, ascending. The size that names a range is in it.
struct SizeBand {
  const char* name;  // "to 32 KiB"
  Bytes least;
  Bytes most;
};
inline constexpr std::array<SizeBand, 4> size_bands = {{
    {"to 32 KiB", {0}, {32 << 10}},
    {"to 1 MiB", {(32 << 10) + 1}, {1 << 20}},
    {"to 32 MiB", {(1 << 20) + 1}, {32 << 20}},
    {"beyond", {(32 << 20) + 1}, {std::int64_t{1} << 62}},
}};
/// The number of the range that a size is in.
std::size_t band_of(Bytes bytes);

/// What one method did: measurements of one system, library, algorithm, protocol, type, operator
/// and place differ in scale and size only.
struct MethodKey {
  std::string system;
  std::string library;
  std::string algorithm;
  std::string protocol;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = false;
  CollectiveKind collective = CollectiveKind::all_reduce;
  auto operator<=>(const MethodKey&) const = default;
};
MethodKey method_of(const MeasuredTime& time);
/// One row for each method, scale and size, in that order: the first of them, with their median.
std::vector<MeasuredTime> medians_of(std::span<const MeasuredTime> rows);
/// "4x4x4" for {4, 4, 4}; empty for none.
std::string to_string(const GridShape& shape);
/// Of "4x4x4"; none for a plain number. Throws InvalidArgument for what is no shape of at most six
/// axes from 1 to 2^20.
GridShape parse_grid_shape(std::string_view text);
/// "ring/LL", or "ring" without a protocol.
std::string full_name(const std::string& algorithm, const std::string& protocol);
/// "abci-v100 nccl auto".
std::string to_string(const MethodKey& key);
/// "16 ranks on 4 nodes", "64 ranks on 4x4x4 nodes", "8 ranks on 2 cores".
std::string to_string(const Scale& scale);

}  // namespace collbench

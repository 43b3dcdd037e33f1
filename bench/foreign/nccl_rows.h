// What names and rows of nccl-tests and rccl-tests say of themselves: whether a line is a row, and
// of which collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "core/data_type.h"
#include "core/units.h"

namespace collbench {

/// Whether it is a comment of a table that went through Markdown, which takes the '#' away. Of at
/// least one word.
bool is_bare_comment(const std::vector<std::string_view>& words);
/// "8 2 float sum ..." with at least one whole half behind it.
bool begins_as_nccl_row(const std::vector<std::string_view>& words);
/// Whether a line without a heading above it is a row of theirs: "8 2 float sum -1 20.1 0.00 0.00
/// 0", with one half or two.
bool is_nccl_row(std::string_view line);

/// Takes the time off that stands behind a row with -S 1: "2026-07-09 16:03:21".
void drop_time_stamp(std::vector<std::string_view>& row);

/// What the heading says of the columns of a half: "time algbw busbw #wrong [i_min i_max ..]".
struct NcclHalf {
  std::size_t width = 4;         // columns
  std::string wrong = "#wrong";  // or "error", the largest deviation
  std::size_t least = 0;         // i_min and i_max of -I; 0: not there
  std::size_t most = 0;
  bool has_launch_time = false;  // -C 1: the first column is what the processor took to launch

  /// Of the words of a line of comment; one that is no heading changes nothing.
  void read(const std::vector<std::string_view>& words);
  /// Before 2.13 the column is the largest deviation, of which 0.01 is allowed for any type; less
  /// than that is no count either, where no heading says what it is.
  std::int64_t wrong_elements(double figure) const;
};

/// Of "all_gather_perf", "bin/all_gather_perf", "AllGather"; nothing for tests of no such
/// collective, as alltoall_perf.
std::optional<CollectiveKind> collective_of_test(std::string_view name);

/// The columns of a row that differ between tests. What has shares counts one of them.
struct NcclColumns {
  bool reduces = true;        // has an operator
  std::optional<int> root{};  // nothing where it is -1 or not there
  Bytes bytes{};
  std::int64_t counted = 0;  // bytes; 0: not said

  /// How many shares the size is of; 1 where all of it is counted, 0 where it does not divide.
  int shares() const;
  /// Nothing where they are of no such collective. An all-to-all's are those of an all-gather, and
  /// a send and receive's those of an all-reduce.
  std::optional<CollectiveKind> collective() const;
};
NcclColumns nccl_columns(const std::vector<std::string_view>& words, bool says_root, Bytes bytes,
                         DataType type);

inline constexpr int highest_nccl_rank = (1 << 24) - 1;

struct NcclDevice {
  int rank = 0;
  std::string host;
  std::string name;
};
/// Of "# Rank 0 Group 0 Pid 5 on host device 0 [0x18] NVIDIA H100 80GB HBM3".
std::optional<NcclDevice> nccl_device(const std::vector<std::string_view>& words);

}  // namespace collbench

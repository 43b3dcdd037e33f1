// What single lines of PyTorch's watchdog say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

constexpr int most_watched_ranks = 1 << 20;

/// The number that follows `key` at once.
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view key);

/// The work that a rank waits in, before what it says of its state.
std::optional<std::int64_t> number_waited_in(std::string_view text);

/// "[0, 3, 12]" at the first bracket.
std::vector<int> listed_ranks(std::string_view text);

/// The process group before a message, "[PG ID 1 PG GUID 5(tp) Rank 3]" or of older versions
/// "[PG 1 Rank 3]", "[Rank 3]".
struct WatchedGroup {
  std::string id;    // empty: not said
  std::string name;  // likewise
  int rank = -1;     // in the group
  int job_rank = -1;
};

WatchedGroup watched_group(std::string_view line);

}  // namespace collbench

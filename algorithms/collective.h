// A collective is a pair of conditions: what each rank holds in each chunk before, and what it must
// hold after. Any schedule that leads from one to the other implements it.
//
// Every rank has a vector of the same length, the larger of the two buffers that libraries ask for.
// A reduce-scatter and an all-gather cut it into one share per rank, in the order of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce
};

struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Rank root = 0;  // of a broadcast or a reduce; 0 elsewhere
  bool operator==(const Collective&) const = default;
};

/// "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", in the order above.
std::span<const std::string_view> collective_names();
std::string_view to_string(CollectiveKind kind);
/// Throws InvalidArgument with a suggestion for an unknown name.
CollectiveKind parse_collective(std::string_view name);

bool has_root(CollectiveKind kind);
/// Whether ranks end with sums; otherwise with copies.
bool adds(CollectiveKind kind);

/// The chunks that `rank` has before: where the collective adds, its own contribution to them;
/// elsewhere what other ranks are to get. May have count 0. Here and below chunks must be a
/// multiple of the ranks where there are shares.
Chunks held_before(const Collective& collective, Rank rank, int ranks, int chunks);
/// The chunks that it must have after; all others may hold anything.
Chunks held_after(const Collective& collective, Rank rank, int ranks, int chunks);
/// The rank whose chunk is copied. Requires a collective that does not add.
Rank source_of(const Collective& collective, int chunk, int ranks, int chunks);

/// The first element of a rank's share of `count` elements; that of rank `ranks` is `count`. Shares
/// are equal up to one element.
std::int64_t share_start(Rank rank, int ranks, std::int64_t count);
/// Elements [first, first + count) of a vector.
struct Elements {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
/// held_before() and held_after() as elements of a vector of `count`.
Elements elements_before(const Collective& collective, Rank rank, int ranks, std::int64_t count);
Elements elements_after(const Collective& collective, Rank rank, int ranks, std::int64_t count);
/// Cuts the vector into shares and each of them into `pieces` near-equal chunks.
Partition share_partition(int ranks, int pieces);

/// Shares of `what` that rank `rank` sends or receives, as times the vector: nccl-tests' factors
/// from algorithm to bus bandwidth. 2 (n-1)/n, (n-1)/n for the halves, 1 with a root.
double bus_factor(CollectiveKind kind, int ranks);

/// Disjoint sets of ranks that play the same collective side by side, the i-th of a group as rank i
/// of it. Empty: one group of all ranks. A root is a rank of each group.
using Groups = std::vector<std::vector<Rank>>;

/// "2x4" is two groups of four consecutive ranks, "0-3;4-7" or "0,2;1,3" lists them; "" is none.
/// Throws InvalidArgument unless groups are equally large and have every rank once.
Groups parse_groups(const std::string& text, int ranks);
/// Ranks of a group: all if there are no groups.
int group_size(const Groups& groups, int ranks);

}  // namespace collbench

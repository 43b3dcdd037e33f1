// A collective is a pair of conditions: what each rank holds in each chunk before, and what it must
// hold after. Any schedule that leads from one to the other implements it.
//
// Every rank has a vector of the same length, the larger of the two buffers that libraries ask for.
// A reduce-scatter and an all-gather cut it into one share per rank, in the order of ranks: equal
// ones, or of as many elements each as MPI's Reduce_scatter and Allgatherv are told.
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
  /// Elements of each rank's share, which make up the vector; empty: equal shares.
  std::vector<std::int64_t> counts = {};
  bool operator==(const Collective&) const = default;
};

/// "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", in the order above.
std::span<const std::string_view> collective_names();
std::string_view to_string(CollectiveKind kind);
/// Throws InvalidArgument with a suggestion for an unknown name.
CollectiveKind parse_collective(std::string_view name);

bool has_root(CollectiveKind kind);
/// Whether the vector is cut into a share for each rank.
bool has_shares(CollectiveKind kind);
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
/// The same where the collective may say how many elements shares have.
std::int64_t share_start(const Collective& collective, Rank rank, int ranks, std::int64_t count);
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

/// The same collective with shares of "1M,2M,0,4K" elements; "" are equal ones. Throws
/// InvalidArgument for a collective without shares, unless there is one number for each of `ranks`,
/// and for more than 2^40 elements together.
Collective with_counts(Collective collective, const std::string& text, int ranks);
/// Elements of the whole vector that `text` describes, as with_counts() reads it.
std::int64_t sum_of_counts(const std::string& text);
/// A schedule of equal shares with the shares of the collective: each is cut into its chunks as an
/// equal share of that size would be. Throws InvalidArgument unless there is one count of at least
/// 0 for each rank.
Schedule cut_into_counts(const Schedule& schedule, const Collective& collective);

/// Shares of `what` that rank `rank` sends or receives, as times the vector: nccl-tests' factors
/// from algorithm to bus bandwidth. 2 (n-1)/n, (n-1)/n for the halves, 1 with a root.
double bus_factor(CollectiveKind kind, int ranks);

/// Disjoint sets of ranks that play the same collective side by side, the i-th of a group as rank i
/// of it. Empty: one group of all ranks. A root is a rank of each group.
using Groups = std::vector<std::vector<Rank>>;

/// "2x4" is two groups of four consecutive ranks, "0-3;4-7" or "0,2;1,3" lists them; "" is none.
/// Throws InvalidArgument unless groups are equally large and have every rank once.
Groups parse_groups(const std::string& text, int ranks);
/// How many ranks such a text names, 8 of "2x4". Throws InvalidArgument for more than 65,536.
int ranks_of_groups(const std::string& text);
/// Ranks of a group: all if there are no groups.
int group_size(const Groups& groups, int ranks);

}  // namespace collbench

// The halves from which bandwidth-optimal all-reduces are built: reduce-scatters and all-gathers.
//
// After each reduce-scatter over n ranks, rank r holds the sum of the r-th n-th of the chunks; each
// all-gather starts there. So any of them can be one axis of a torus or one level of a hierarchy.
#pragma once

#include <functional>

#include "algorithms/schedule.h"

namespace collbench {

/// A reduce-scatter and the all-gather that undoes it, over the same ranks and chunks.
struct Phases {
  Schedule reduce_scatter;
  Schedule all_gather;
};

/// n-1 rounds each, all messages to the next rank. n chunks.
Phases ring_phases(int ranks);
/// Two rings in opposite directions, each over half of every share. n-1 rounds each, 2n chunks.
Phases bidirectional_phases(int ranks);
/// Sums flow to their owner from both sides of the ring. floor(n/2) rounds each, n chunks.
Phases pincer_phases(int ranks);
/// As pincer_phases(); on an even ring half of the shard of the rank opposite goes either way, so
/// that no direction carries more than (n-1)/2n. 2n chunks if n is even and above 2.
Phases even_pincer_phases(int ranks);
/// Sums flow to their owner along a line without a closing link. n-1 rounds each, n chunks.
Phases line_phases(int ranks);
/// Halving skips on a circulant graph, any n. ceil(log2 n) rounds each, n chunks.
Phases circulant_phases(int ranks);
/// Every rank exchanges with every other at once. 1 round each, n chunks; sums in rank order.
Phases direct_phases(int ranks);

/// See pat() in allreduce.h. n chunks.
Phases pat_phases(int ranks, int aggregation);

/// Shard i of `shards` is summed in rank order by rank owner(i), and copied back; 1 round each.
/// Requires owner() not to decrease. Owners need not be spread as reduce-scatter owners are.
Phases sharded_phases(int ranks, int shards, const std::function<Rank(int shard)>& owner);

/// The rank that `rank` exchanges with in `round`. Must be an involution for every round.
using Partner = std::function<Rank(Rank rank, int round)>;

/// Recursive halving between partners, for a power of two of ranks. log2 n rounds each, n chunks.
/// The owner of a chunk follows from the tree of exchanges and is not its number.
Phases butterfly_phases(int ranks, const Partner& partner);
/// Partners exchange and add everything they have (1 chunk): an all-reduce in log2 n rounds.
Schedule butterfly_exchange(int ranks, const Partner& partner);
/// The largest power of two that is at most `n`. Requires n >= 1.
int floor_power_of_two(int n);

}  // namespace collbench

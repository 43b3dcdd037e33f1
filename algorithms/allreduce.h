// Every all-reduce collbench knows, as a function from its parameters to a schedule.
//
// What each costs, when it applies and where it comes from is in one row of the registry
// (registry_rows.cc) and in docs/algorithms.md. Each throws InvalidArgument for ranks or parameters
// that do not fit; any number of ranks from 1 on is fine where nothing else is said.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "algorithms/reduce_scatter.h"
#include "algorithms/rooted.h"
#include "algorithms/schedule.h"

namespace collbench {

enum class RingVariant : std::uint8_t { one_way, bidirectional, pincer };
Schedule ring(int ranks, RingVariant variant = RingVariant::one_way, int segments = 1);

Schedule tree(int ranks, int segments = 8);
Schedule double_tree(int ranks, int segments = 8);

/// On a grid `dims` (powers of two; rank = i0 + d0 * (i1 + d1 * ...)), here and below: `tracks` at
/// once start on different axes, each with its share of the vector (grid_butterfly.h).
Schedule recursive_doubling(int ranks);
Schedule recursive_doubling(const std::vector<int>& dims, int tracks);
/// Which exchange, hence which half of the traffic, comes first: with the nearest or farthest rank.
enum class DistanceOrder : std::uint8_t { near, far };
Schedule halving_doubling(int ranks, DistanceOrder order = DistanceOrder::near);
Schedule halving_doubling(const std::vector<int>& dims, int tracks, DistanceOrder order);
/// Requires a power of two. Latency-optimal Swing leaves different roundings on the ranks.
Schedule swing(int ranks, bool latency_optimal = false);
Schedule swing(const std::vector<int>& dims, int tracks, bool latency_optimal);
Schedule circulant(int ranks);
/// Any number of ranks; an odd one out is folded in. `small` exchanges whole vectors, and ranks may
/// then differ in rounding.
Schedule bine(int ranks, bool small = false);
/// Requires a power of two of ranks, of which root is one. log2 n rounds each, 1 chunk.
RootedPhases bine_tree_phases(int ranks, Rank root);
/// NCCL's PAT: shards along shifted binomial trees, far hops first. `aggregation` shards travel
/// together, a power of two of at most half the ranks (rounded up to one): about log2 of it and
/// ranks / aggregation rounds.
Schedule pat(int ranks, int aggregation);

Schedule direct(int ranks);
Schedule one_shot(int ranks);
Schedule reduce_broadcast(int ranks, Rank root = 0);
/// Requires 1 <= servers <= ranks.
Schedule parameter_server(int ranks, int servers);
/// TensorFlow's HierarchicalCopyAllReduce; the vector is cut into `packs` that take turns in using
/// the ranks as collecting points.
Schedule hierarchical_copy(int ranks, int packs = 1);

/// `dims` lists the sizes of the levels, innermost first; rank = i0 + d0 * (i1 + d1 * ...).
/// `inner` and `outer` make the phases of the lower levels and of the top one.
using PhasesOf = std::function<Phases(int ranks)>;
Schedule hierarchical(const std::vector<int>& dims, const PhasesOf& inner = ring_phases,
                      const PhasesOf& outer = ring_phases);
/// One track: reduce-scatter along rows of `width`, all-reduce along columns, all-gather.
Schedule torus_2d(int width, int height);
/// wrap[i] says whether axis i closes to a ring; dims as for hierarchical(). Balanced shares suit
/// axes that differ; equal ones are an n-th for each track.
/// `concentrate`: the first axis is the cores of a chip, over which every track reduces first, so
/// that each core sends its own part of the chip's sums over the links.
enum class StreamShares : std::uint8_t { equal, balanced };
Schedule torus(const std::vector<int>& dims, const std::vector<bool>& wrap, bool pincer = false,
               StreamShares shares = StreamShares::equal, bool concentrate = false);
/// The balanced share of the track that starts on each axis: those with the least time in which
/// both every link carries its bytes and every track its own, one stage after another. They add up
/// to 1. Requires lengths of at least 2.
std::vector<double> balanced_shares(const std::vector<int>& dims, const std::vector<bool>& wrap);

/// TensorFlow's RingReducer bit by bit: its chunk table and its order of additions.
Schedule tf_ring(int ranks, int subdivisions = 1);
/// TensorFlow's chunk boundaries: whole multiples of 64 bytes, and 64 more where already aligned,
/// so that the last chunks may be empty.
Partition tf_ring_partition(int chunks);

}  // namespace collbench

// Packings of networks that look alike from many ranks: one tree about every rank.
//
// Links between alike vertices (colour refinement: Weisfeiler and Leman 1968) get equal prices, so
// that the linear program has one price per class of links and a thousand ranks are packed in
// seconds. Where shifts map the network onto itself (shifts.h) trees are the images of a few.
// Elsewhere the cheapest trees grown about every rank stand for one tree and its images; where
// images meet on a link that others are as good as, as on the first adapter of another node, each
// tree takes what those before it load least. Nothing is assumed of the network: what the trees
// load is counted, and compared with the bound.
#pragma once

#include "heuristics/synthesis/tree_packing.h"

namespace collbench {

/// Equally heavy trees, the fewest within `tolerance` of `target` seconds per byte, or else the
/// best found; none if links are not alike in both directions, or most are unlike. Requires as
/// pack_trees().
TreePacking alike_trees(const Topology& topology, CollectiveKind goal, double target,
                        double tolerance);

}  // namespace collbench

// Butterflies over a grid of ranks: exchanges between partners along one axis after another, and
// several of them at once, so that the links of all axes and directions work.
//
// Track s starts on axis s mod D and takes the axes in turn, one exchange on each; an axis whose
// exchanges are all done is passed over. Tracks from D on are mirrored: they go the other way
// round. Source: De Sensi, Bonato, Saam, Hoefler: Swing, NSDI 2024 (there with 2D tracks).
#pragma once

#include <string>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

/// The coordinate that `coordinate` meets in exchange `step` on an axis of `size`, a power of two.
using AxisPartner = int (*)(int coordinate, int step, int size);

int swing_partner(int coordinate, int step, int size);
int mirrored_swing_partner(int coordinate, int step, int size);
int near_partner(int coordinate, int step, int size);  // 1 place away, 2, 4, ...
int far_partner(int coordinate, int step, int size);   // size/2 places away, size/4, ...

/// How a butterfly over a grid is played. rank = i0 + d0 * (i1 + d1 * ...).
struct GridButterfly {
  std::vector<int> dims;       // powers of two
  int tracks = 1;              // at once, each on its share of the vector
  AxisPartner partner;         // of the tracks up to the number of axes
  AxisPartner mirrored;        // of those beyond
  bool whole_vectors = false;  // partners exchange everything, instead of halves and back
};

/// An all-reduce in log2 n rounds with whole vectors, else in 2 log2 n. Throws InvalidArgument for
/// a length that is no power of two, and for tracks < 1 or > twice the axes longer than 1 (once
/// if `mirrored` is null, where a mirrored track would be the same again).
Schedule grid_butterfly(const std::string& name, const GridButterfly& grid);

}  // namespace collbench

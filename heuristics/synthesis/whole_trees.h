// Packings of equally heavy trees: what plays without loss where messages pass several links.
//
// Links share their rate equally among messages, so that equal messages of one round end together,
// at the time that the fullest link needs; unequal ones end one after the other and leave links
// idle that others wait for. Weights of a linear program are rarely multiples of one another, so
// this is a search: from rounded weights on, one tree at a time is given up for another while that
// makes the fullest links less full.
#pragma once

#include <functional>
#include <vector>

#include "heuristics/synthesis/tree_pricing.h"

namespace collbench {

/// What so many of each tree take, in seconds per byte.
using TimeOfCounts = std::function<double(const std::vector<int>&)>;

/// How often each of pricer.trees() is taken, so that every root has as many: few, up to `most` in
/// all, that reach `seconds_per_byte` within `tolerance` and fill no more links than they must, or
/// else the best found with that much `effort`, of some seconds.
/// `weights` of the trees are where it begins. More trees may be added to the pricer.
/// `time_of`, if there is one, may find less than the loads of the trees say.
std::vector<int> whole_multiples(TreePricer& pricer, const std::vector<double>& weights,
                                 double seconds_per_byte, int most, double tolerance,
                                 double effort = 1, const TimeOfCounts& time_of = {});

}  // namespace collbench

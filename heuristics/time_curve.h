// The time of one algorithm over the size, between and beyond the sizes measured.
//
// Drawn as log time over log bytes, all-reduces are level while latency counts, then bend up to the
// slope 1, where every byte takes its time: the curve hangs below the chord between two measured
// sizes. How far at most follows from its neighbours: it lies above the lines that continue the
// segments on either side, falls nowhere and climbs no faster than the bytes. The value taken is
// the middle between the chord and that lower bound, on the logarithmic scale. With every second
// size of 34 tables of nccl-tests and OSU left out (836 points) it is off by 6.0 % in the median,
// the chord by 8.1 %; with two of three (748), by 7.9 and 15.5 %.
//
// Below the smallest size the time stays, above the largest it grows with the bytes.
#pragma once

#include <cstdint>
#include <map>

namespace collbench {

using TimeCurve = std::map<std::int64_t, double>;  // seconds by bytes

/// Seconds for `bytes`. Requires at least one point, and bytes > 0.
double time_at(const TimeCurve& curve, double bytes);

/// How far a size lies outside those measured, in doublings; 0 between them. Requires as above.
double doublings_outside(const TimeCurve& curve, double bytes);

/// What must be gained, for each such doubling, to leave a library's own choice there: it knows its
/// hardware at sizes that nobody measured.
inline constexpr double worth_leaving_default = 0.02;

}  // namespace collbench

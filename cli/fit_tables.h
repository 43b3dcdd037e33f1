// The option --fit: tables to fit to, of which none of the points is among those that are judged.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

inline constexpr const char* fit_help =
    "fit to these tables (A.csv,nodes=2,B.csv) and judge on FILE, which must not share a point "
    "with "
    "them";

/// Rows of one collective of the tables "A.csv,nodes=2,B.csv". Throws InvalidArgument if one of
/// them is among `judged`, or if none is of a system that is judged.
std::vector<MeasuredTime> rows_to_fit(const std::string& tables, CollectiveKind kind,
                                      std::span<const MeasuredTime> judged);

/// How many of `judged` are among `fitted`: of the same method, scale and size, with a time (or a
/// median of repeats) within 0.1 %. Single times of two runs may be that close by chance, so this
/// must hold of half of the sizes that both have at that scale. The system counts only where
/// `fitted` knows it, as in Predictor.
int shared_points(std::span<const MeasuredTime> fitted, std::span<const MeasuredTime> judged);

/// "# held out: ..." or "# in sample: ...", which says how to read the figures that follow.
std::string sample_line(std::ptrdiff_t fitted, int shared, std::size_t judged);

}  // namespace collbench

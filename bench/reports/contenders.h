// What reports compare with each other: an algorithm on a back end. How each is called, and the
// colour that its algorithm has in every chart.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/records/case.h"

namespace collbench {

/// Whether contenders need their back ends to be told apart. Simulated cases have none.
bool backends_differ(const std::vector<Case>& cases);

/// "ring@shm", as `--algo` takes it; "ring" without the back end, for a simulated case, and for a
/// library's own algorithm, whose name says where it runs: "mpi".
std::string contender_name(const Case& point, bool with_backend);

/// How many colours charts have: Paul Tol's bright scheme, which colour-blind people tell apart.
inline constexpr std::size_t chart_colours = 7;
/// "#4477AA". Places beyond the last colour begin again.
std::string_view chart_colour(std::size_t place);

/// A place for each algorithm of the cases, by which all charts colour it. It depends only on which
/// algorithms there are: each has its own place, and the same beside others, as long as these leave
/// it free.
std::map<std::string, std::size_t> algorithm_places(const std::vector<Case>& cases);

}  // namespace collbench

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/levels.h"
#include "core/error.h"

namespace collbench {

// D streams, one per axis longer than 1, each with 1/D of the data. Stream s starts on axis s and
// goes on with s+1, s+2, ... modulo D, so that at any time all axes are busy, in both directions.
Schedule torus(const std::vector<int>& dims, const std::vector<bool>& wrap, bool pincer) {
  require(!dims.empty() && dims.size() == wrap.size(), "torus: needs one wrap per axis, not " +
                                                           std::to_string(wrap.size()) + " for " +
                                                           std::to_string(dims.size()) + " axes");
  const auto phases = [&](std::size_t axis, int size) {
    if (!wrap[axis]) return line_phases(size);
    return pincer ? pincer_phases(size) : bidirectional_phases(size);
  };
  std::vector<Level> axes;
  int ranks = 1;
  for (const Level& level : grid_levels(dims, phases)) {
    ranks *= level.size;
    if (level.size > 1) axes.push_back(level);
  }
  if (axes.empty()) return {"torus", {1, 1, 0}, [](Rank, int, Round&) {}};
  const int share = ranks * pieces_per_rank(axes);
  const int streams = static_cast<int>(axes.size());
  std::vector<Schedule> parts;
  for (int s = 0; s < streams; ++s) {
    std::vector<Level> order(axes.begin() + s, axes.end());
    order.insert(order.end(), axes.begin(), axes.begin() + s);
    parts.push_back(all_reduce_over(order, ranks, streams * share, {s * share, share}));
  }
  return concurrent("torus", parts);
}

}  // namespace collbench

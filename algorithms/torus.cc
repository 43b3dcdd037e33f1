#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/levels.h"
#include "core/error.h"

namespace collbench {
namespace {

// Solves a x = b by Gaussian elimination with partial pivoting; a has n rows of n + 1 numbers, the
// last being b. Empty if a is singular.
std::vector<double> solve(std::vector<std::vector<double>> a) {
  const std::size_t n = a.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r) {
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    if (std::abs(a[c][c]) < 1e-9) return {};
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = a[r][c] / a[c][c];
      for (std::size_t k = c; k <= n; ++k) a[r][k] -= factor * a[c][k];
    }
  }
  std::vector<double> x(n);
  for (std::size_t r = 0; r < n; ++r) x[r] = a[r][n] / a[r][r];
  return x;
}

// Times per unit of the vector that track s keeps a link of axis a busy, for a whole share:
// track s plays axis s + k in stage k, on what the stages before left. A link of a line carries
// what both directions of a ring share.
std::vector<std::vector<double>> link_times(const std::vector<int>& dims,
                                            const std::vector<bool>& wrap) {
  const std::size_t n = dims.size();
  std::vector<std::vector<double>> times(n, std::vector<double>(n));
  for (std::size_t s = 0; s < n; ++s) {
    double left = 1;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t a = (s + k) % n;
      const double d = dims[a];
      times[s][a] = left * (d - 1) / d * (wrap[a] ? 1 : 2);
      left /= d;
    }
  }
  return times;
}

// Track s has share[s] of the vector, cut into `chunks_per_stream` near-equal chunks.
Partition streams_partition(std::vector<double> shares, int chunks_per_stream) {
  std::vector<double> before{0};
  for (const double share : shares) before.push_back(before.back() + share);
  before.back() = 1;
  const Partition within = near_equal_partition(chunks_per_stream);
  return [before, within, chunks_per_stream](int chunk, std::int64_t count, int element_bytes) {
    const auto track_first = [&](std::size_t track) {
      if (track + 1 == before.size()) return count;
      const auto first = static_cast<std::int64_t>(static_cast<double>(count) * before[track]);
      const std::int64_t line = std::max(1, 64 / element_bytes);
      return first / line * line;
    };
    const auto track = static_cast<std::size_t>(chunk / chunks_per_stream);
    const std::int64_t first = track_first(track);
    if (track + 1 == before.size()) return first;
    return first + within(chunk % chunks_per_stream, track_first(track + 1) - first, element_bytes);
  };
}

}  // namespace

// A linear program: the least t with sum_s x_s times(s, a) <= t for every axis a, x_s sum_a
// times(s, a) <= t for every track s, x >= 0, sum x = 1. Its optimum is a vertex, where n of the
// bounds are met; there are few enough to look at all.
std::vector<double> balanced_shares(const std::vector<int>& dims, const std::vector<bool>& wrap) {
  const std::size_t n = dims.size();
  const std::vector<std::vector<double>> times = link_times(dims, wrap);
  std::vector<std::vector<double>> bounds(3 * n, std::vector<double>(n + 2, 0.0));  // x, t, 0
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t a = 0; a < n; ++a) {
      bounds[a][s] = times[s][a];
      bounds[n + s][s] += times[s][a];
    }
    bounds[s][n] = bounds[n + s][n] = -1;
    bounds[2 * n + s][s] = -1;
  }
  std::vector<double> whole(n + 2, 1.0);
  whole[n] = 0;
  const auto meets_all = [&](const std::vector<double>& x) {
    return std::all_of(bounds.begin(), bounds.end(), [&](const std::vector<double>& bound) {
      return std::inner_product(x.begin(), x.end(), bound.begin(), 0.0) < 1e-9;
    });
  };
  std::vector<double> best;
  for (unsigned chosen = 0; chosen < 1U << bounds.size(); ++chosen) {
    if (std::popcount(chosen) != static_cast<int>(n)) continue;
    std::vector<std::vector<double>> system{whole};
    for (std::size_t b = 0; b < bounds.size(); ++b) {
      if ((chosen >> b & 1U) != 0) system.push_back(bounds[b]);
    }
    const std::vector<double> x = solve(std::move(system));
    if (!x.empty() && meets_all(x) && (best.empty() || x[n] < best[n] - 1e-12)) best = x;
  }
  best.resize(n);
  return best;
}

// D tracks, one per axis longer than 1, each with 1/D of the data. Track s starts on axis s and
// goes on with s+1, s+2, ... modulo D, so that at any time all axes are busy, in both directions.
// Cores of a chip are no such axis: every track visits them before the others.
Schedule torus(const std::vector<int>& dims, const std::vector<bool>& wrap, bool pincer,
               StreamShares shares, bool concentrate) {
  require(!dims.empty() && dims.size() == wrap.size(), "torus: needs one wrap per axis, not " +
                                                           std::to_string(wrap.size()) + " for " +
                                                           std::to_string(dims.size()) + " axes");
  const auto phases = [&](std::size_t axis, int size) {
    if (concentrate && axis == 0) return direct_phases(size);
    if (!wrap[axis]) return line_phases(size);
    return pincer ? even_pincer_phases(size) : bidirectional_phases(size);
  };
  std::vector<Level> cores;
  std::vector<Level> axes;
  std::vector<int> lengths;
  std::vector<bool> wraps;
  int ranks = 1;
  const std::vector<Level> levels = grid_levels(dims, phases);
  for (std::size_t a = 0; a < levels.size(); ++a) {
    ranks *= levels[a].size;
    if (levels[a].size == 1) continue;
    if (concentrate && a == 0) {
      cores.push_back(levels[a]);
      continue;
    }
    axes.push_back(levels[a]);
    lengths.push_back(levels[a].size);
    wraps.push_back(wrap[a]);
  }
  if (ranks == 1) return {"torus", {1, 1, 0}, [](Rank, int, Round&) {}};
  const int share = ranks * std::max(pieces_per_rank(axes), pieces_per_rank(cores));
  const int count = std::max(1, static_cast<int>(axes.size()));
  std::vector<Schedule> parts;
  for (int s = 0; s < count; ++s) {
    std::vector<Level> order = cores;
    order.insert(order.end(), axes.begin() + s, axes.end());
    order.insert(order.end(), axes.begin(), axes.begin() + s);
    parts.push_back(all_reduce_over(order, ranks, count * share, {s * share, share}));
  }
  const Schedule together = tracks("torus", parts);
  if (shares == StreamShares::equal || axes.empty()) return together;
  return together.with_partition(streams_partition(balanced_shares(lengths, wraps), share));
}

}  // namespace collbench

#include "heuristics/synthesis/shifts.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace collbench {
namespace {

using Dims = std::vector<int>;  // innermost axis first

/// One place on along an axis whose neighbours are `stride` apart.
Rank shifted_along(Rank rank, int length, int stride) {
  const int place = rank / stride % length;
  return rank + (place + 1 < length ? stride : -place * stride);
}

class ShiftSearch {
 public:
  ShiftSearch(const Topology& topology, const RankPaths& paths) : ranks_(paths.ranks()) {
    for (Rank from = 0; from < ranks_; ++from) {
      for (Rank to = 0; to < ranks_; ++to) {
        const auto links = paths.links(from, to);
        double narrowest = std::numeric_limits<double>::infinity();
        for (const LinkId link : links) narrowest = std::min(narrowest, topology.capacity(link));
        ways_.emplace_back(links.size(), narrowest);
      }
    }
  }

  /// Completes a grid that begins with the axes of `begun`; false if none fits.
  bool find(Dims begun, int rest, Dims& found) const {
    if (rest == 1) {
      found = std::move(begun);
      return true;
    }
    const int stride = ranks_ / rest;
    for (int length = rest; length > 1; --length) {
      if (rest % length != 0 || !keeps_ways(length, stride)) continue;
      begun.push_back(length);
      if (find(begun, rest / length, found)) return true;
      begun.pop_back();
    }
    return false;
  }

 private:
  const std::pair<std::size_t, double>& way(Rank from, Rank to) const {
    return ways_[static_cast<std::size_t>(from) * ranks_ + to];
  }

  bool keeps_ways(int length, int stride) const {
    const auto moved = [=](Rank rank) { return shifted_along(rank, length, stride); };
    for (Rank from = 0; from < ranks_; ++from) {
      for (Rank to = 0; to < ranks_; ++to) {
        if (way(from, to) != way(moved(from), moved(to))) return false;
      }
    }
    return true;
  }

  int ranks_;
  std::vector<std::pair<std::size_t, double>> ways_;  // links and the narrowest one, by pair
};

}  // namespace

std::vector<std::vector<Rank>> shifts_of(const Topology& topology, const RankPaths& paths) {
  std::vector<std::vector<Rank>> shifts;
  Dims dims;
  if (!ShiftSearch(topology, paths).find({}, paths.ranks(), dims)) return shifts;
  for (Rank by = 0; by < paths.ranks(); ++by) {
    std::vector<Rank>& image = shifts.emplace_back();
    for (Rank rank = 0; rank < paths.ranks(); ++rank) {
      Rank moved = 0;
      int stride = 1;
      for (const int length : dims) {
        moved += (rank / stride + by / stride) % length * stride;
        stride *= length;
      }
      image.push_back(moved);
    }
  }
  return shifts;
}

}  // namespace collbench

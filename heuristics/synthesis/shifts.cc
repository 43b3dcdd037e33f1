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

  bool fits(const Dims& dims) const {
    int stride = 1;
    for (const int length : dims) {
      if (!keeps_ways(length, stride)) return false;
      stride *= length;
    }
    return true;
  }

  template <class Move>
  bool keeps_ways(const Move& move) const {
    for (Rank from = 0; from < ranks_; ++from) {
      for (Rank to = 0; to < ranks_; ++to) {
        if (way(from, to) != way(move(from), move(to))) return false;
      }
    }
    return true;
  }

 private:
  const std::pair<std::size_t, double>& way(Rank from, Rank to) const {
    return ways_[static_cast<std::size_t>(from) * ranks_ + to];
  }

  bool keeps_ways(int length, int stride) const {
    return keeps_ways([=](Rank rank) { return shifted_along(rank, length, stride); });
  }

  int ranks_;
  std::vector<std::pair<std::size_t, double>> ways_;  // links and the narrowest one, by pair
};

Dims places_of(Rank rank, const Dims& dims) {
  Dims places;
  for (const int length : dims) {
    places.push_back(rank % length);
    rank /= length;
  }
  return places;
}

Rank rank_at(const Dims& places, const Dims& dims) {
  Rank rank = 0;
  for (std::size_t axis = dims.size(); axis-- > 0;) rank = rank * dims[axis] + places[axis];
  return rank;
}

/// Every axis walked the other way.
Rank mirrored(Rank rank, const Dims& dims) {
  Dims places = places_of(rank, dims);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    places[axis] = (dims[axis] - places[axis]) % dims[axis];
  }
  return rank_at(places, dims);
}

/// Axes as long as the first of the longest take each other's place, in turn.
Rank turned(Rank rank, const Dims& dims) {
  const int longest = *std::max_element(dims.begin(), dims.end());
  Dims places = places_of(rank, dims);
  int carried = -1;
  std::size_t first = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != longest) continue;
    if (carried < 0) first = axis;
    std::swap(places[axis], carried);
  }
  places[first] = carried;
  return rank_at(places, dims);
}

}  // namespace

Likenesses likenesses_of(const Topology& topology, const RankPaths& paths) {
  const ShiftSearch search(topology, paths);
  Dims dims = topology.layout().dims;
  if (!search.fits(dims) && !search.find({}, paths.ranks(), dims)) return {};
  Likenesses found;
  for (Rank by = 0; by < paths.ranks(); ++by) {
    const Dims places = places_of(by, dims);
    std::vector<Rank>& image = found.shifts.emplace_back();
    for (Rank rank = 0; rank < paths.ranks(); ++rank) {
      Dims moved = places_of(rank, dims);
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        moved[axis] = (moved[axis] + places[axis]) % dims[axis];
      }
      image.push_back(rank_at(moved, dims));
    }
  }
  // Of each its powers, until it is back.
  found.all = found.shifts;
  for (const auto move : {mirrored, turned}) {
    const auto once = [&](Rank rank) { return move(rank, dims); };
    if (!search.keeps_ways(once)) continue;
    const std::vector<std::vector<Rank>> before = found.all;
    std::vector<Rank> power = found.shifts.front();
    for (;;) {
      for (Rank& rank : power) rank = once(rank);
      if (power == found.shifts.front()) break;
      for (const std::vector<Rank>& image : before) {
        std::vector<Rank>& other = found.all.emplace_back();
        for (const Rank rank : power) other.push_back(image[rank]);
      }
    }
  }
  return found;
}

}  // namespace collbench

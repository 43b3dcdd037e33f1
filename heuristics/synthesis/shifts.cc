#include "heuristics/synthesis/shifts.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace collbench {
namespace {

struct GridAxis {
  int length;
  bool shifts;  // along it
};

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

  /// Completes a grid that begins with the axes of `begun`; keeps the one with most shifts.
  void find(std::vector<GridAxis>& begun, int rest) {
    if (rest == 1) {
      int shifts = 1;
      for (const GridAxis& axis : begun) shifts *= axis.shifts ? axis.length : 1;
      if (shifts > most_) found_ = begun;
      most_ = std::max(most_, shifts);
      return;
    }
    const int stride = ranks_ / rest;
    for (int length = rest; length > 1 && most_ < ranks_; --length) {
      if (rest % length != 0) continue;
      for (const bool shifts : {true, false}) {
        if (shifts && !keeps_ways(length, stride)) continue;
        begun.push_back({length, shifts});
        find(begun, rest / length);
        begun.pop_back();
      }
    }
  }
  const std::vector<GridAxis>& found() const { return found_; }

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
  std::vector<GridAxis> found_;                       // innermost first
  int most_ = 0;                                      // shifts
};

}  // namespace

std::vector<Rank> image_of(const std::vector<Rank>& parents, const std::vector<Rank>& shift) {
  std::vector<Rank> image(parents.size(), -1);
  for (std::size_t r = 0; r < parents.size(); ++r) {
    if (parents[r] >= 0) image[shift[r]] = shift[parents[r]];
  }
  return image;
}

std::vector<std::vector<Rank>> shifts_of(const Topology& topology, const RankPaths& paths) {
  ShiftSearch search(topology, paths);
  std::vector<GridAxis> begun;
  search.find(begun, paths.ranks());
  std::vector<std::vector<Rank>> shifts;
  for (Rank by = 0; by < paths.ranks(); ++by) {
    std::vector<Rank> image;
    bool is_shift = true;
    for (Rank rank = 0; rank < paths.ranks(); ++rank) {
      Rank moved = 0;
      int stride = 1;
      for (const auto& [length, shifts_along] : search.found()) {
        const int place = by / stride % length;
        is_shift = is_shift && (shifts_along || place == 0);
        moved += (rank / stride + place) % length * stride;
        stride *= length;
      }
      image.push_back(moved);
    }
    if (is_shift) shifts.push_back(std::move(image));
  }
  return shifts;
}

}  // namespace collbench

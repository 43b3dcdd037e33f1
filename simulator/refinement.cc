#include "simulator/refinement.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <numeric>
#include <utility>

#include "core/stop_request.h"

namespace collbench {
namespace {

// Vertices sorted by class, so that a class is a range, and a split moves only the marked vertices.
// mark() gathers them at the front of the range.
class ColourClasses {
 public:
  explicit ColourClasses(std::span<const std::int32_t> colours)
      : order_(colours.size()), place_(colours.size()), class_of_(colours.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::stable_sort(order_, {}, [&](std::int32_t v) { return colours[v]; });
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::int32_t v = order_[i];
      place_[v] = static_cast<std::int32_t>(i);
      if (i == 0 || colours[v] != colours[order_[i - 1]]) classes_.push_back({place_[v], 0, 0});
      class_of_[v] = count() - 1;
      ++classes_.back().size;
    }
  }

  int count() const { return static_cast<int>(classes_.size()); }
  int class_of(std::int32_t vertex) const { return class_of_[vertex]; }
  int size(int c) const { return classes_[c].size; }
  std::span<const std::int32_t> members(int c) const {
    return {order_.data() + classes_[c].begin, static_cast<std::size_t>(classes_[c].size)};
  }

  /// Brings `vertex` to the marked members at the front of its class.
  void mark(std::int32_t vertex) {
    Range& range = classes_[class_of_[vertex]];
    const std::int32_t target = range.begin + range.marked;
    const std::int32_t other = order_[target];
    std::swap(order_[target], order_[place_[vertex]]);
    place_[other] = place_[vertex];
    place_[vertex] = target;
    ++range.marked;
  }

  /// Splits class `c` into its unmarked members and the marked ones by `counts`, which are from
  /// `least` to `most`, and unmarks all. The largest part keeps the number; the others get new
  /// ones, from the old count() on.
  void split(int c, const std::vector<std::int32_t>& counts, std::int32_t least,
             std::int32_t most) {
    const Range whole = classes_[c];
    classes_[c].marked = 0;
    parts_.clear();
    if (least == most) {
      parts_.push_back({whole.begin, whole.marked, 0});
    } else {
      sort_marked(whole, counts);
    }
    const std::int32_t rest = whole.size - whole.marked;
    if (rest > 0) parts_.push_back({whole.begin + whole.marked, rest, 0});
    number_parts(c, least != most);
  }

 private:
  struct Range {
    std::int32_t begin;
    std::int32_t size;
    std::int32_t marked;
  };

  // Makes a part of the marked members of each count.
  void sort_marked(const Range& whole, const std::vector<std::int32_t>& counts) {
    const auto begin = order_.begin() + whole.begin;
    const auto end = begin + whole.marked;
    std::sort(begin, end, [&](std::int32_t a, std::int32_t b) { return counts[a] < counts[b]; });
    for (auto v = begin; v != end; ++v) {
      if (v == begin || counts[*v] != counts[*(v - 1)]) {
        parts_.push_back({static_cast<std::int32_t>(v - order_.begin()), 0, 0});
      }
      ++parts_.back().size;
    }
  }

  // The largest part keeps the number of the class, so that class_of_ changes for the smaller parts
  // only: a vertex then changes its class at most log2(vertices) times.
  void number_parts(int c, bool moved) {
    const auto smaller = [](const Range& a, const Range& b) { return a.size < b.size; };
    const auto largest = std::max_element(parts_.begin(), parts_.end(), smaller);
    for (auto part = parts_.begin(); part != parts_.end(); ++part) {
      const int number = part == largest ? c : count();
      if (part == largest) {
        classes_[c] = *part;
      } else {
        classes_.push_back(*part);
      }
      for (std::int32_t i = part->begin; i < part->begin + part->size; ++i) {
        if (moved) place_[order_[i]] = i;
        if (number != c) class_of_[order_[i]] = number;
      }
    }
  }

  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> place_;  // inverse of order_
  std::vector<std::int32_t> class_of_;
  std::vector<Range> classes_;
  std::vector<Range> parts_;
};

// Splits classes by the counts of edges into waiting classes (splitters), until none waits.
class Refiner {
 public:
  Refiner(std::span<const std::int32_t> colours, std::span<const Adjacency> kinds)
      : kinds_(kinds), partition_(colours), counts_(colours.size(), 0) {
    for (int c = 0; c < partition_.count(); ++c) enqueue(c);
  }

  const ColourClasses& run(int most) {
    while (!waiting_.empty()) {
      leave_if_stopped();
      if (partition_.count() > most) throw LittleSymmetry();
      const int splitter = waiting_.front();
      waiting_.pop_front();
      is_waiting_[splitter] = false;
      const auto members = partition_.members(splitter);
      splitter_.assign(members.begin(), members.end());
      for (const Adjacency& edges : kinds_) split_by(edges);
    }
    return partition_;
  }

 private:
  void enqueue(int c) {
    if (static_cast<std::size_t>(c) >= is_waiting_.size()) is_waiting_.resize(c + 1, false);
    if (is_waiting_[c]) return;
    is_waiting_[c] = true;
    waiting_.push_back(c);
  }

  // Splits all classes by the number of edges of one kind into splitter_.
  void split_by(const Adjacency& edges) {
    touched_.clear();
    for (const std::int32_t v : splitter_) {
      for (std::uint32_t i = edges.begin[v]; i < edges.begin[v + 1]; ++i) {
        if (counts_[edges.to[i]]++ == 0) touched_.push_back(edges.to[i]);
      }
    }
    tally();
    for (const std::int32_t u : touched_) {
      if (tallies_[partition_.class_of(u)].splits) partition_.mark(u);
    }
    for (const int c : reached_) {
      const Tally reached = std::exchange(tallies_[c], {});
      if (!reached.splits) continue;
      const int before = partition_.count();
      partition_.split(c, counts_, reached.least, reached.most);
      // A waiting class goes on waiting as its largest part. If it was not waiting, all classes are
      // already uniform in their counts into the whole; counts into the largest part follow from
      // those into the other parts, so only these need to wait (Hopcroft's "smaller half").
      for (int part = before; part < partition_.count(); ++part) enqueue(part);
    }
    for (const std::int32_t u : touched_) counts_[u] = 0;
  }

  // Finds the classes with edges into the splitter, and those whose members differ in their counts.
  void tally() {
    reached_.clear();
    tallies_.resize(static_cast<std::size_t>(partition_.count()));
    for (const std::int32_t u : touched_) {
      const std::int32_t count = counts_[u];
      Tally& of = tallies_[partition_.class_of(u)];
      if (of.members++ == 0) {
        reached_.push_back(partition_.class_of(u));
        of.least = of.most = count;
      }
      of.least = std::min(of.least, count);
      of.most = std::max(of.most, count);
    }
    for (const int c : reached_) {
      Tally& of = tallies_[c];
      of.splits = of.members < partition_.size(c) || of.least < of.most;
    }
  }

  struct Tally {  // of the members of a class that the splitter reaches
    std::int32_t members = 0;
    std::int32_t least = 0;  // edges into the splitter
    std::int32_t most = 0;
    bool splits = false;
  };

  std::span<const Adjacency> kinds_;
  ColourClasses partition_;
  std::vector<std::int32_t> counts_;  // edges into the splitter, by vertex
  std::vector<std::int32_t> splitter_;
  std::vector<std::int32_t> touched_;
  std::vector<Tally> tallies_;  // by class, all zero between uses
  std::vector<int> reached_;
  std::vector<bool> is_waiting_;
  std::deque<int> waiting_;
};

}  // namespace

Adjacency adjacency(int vertices, std::span<const std::int32_t> a,
                    std::span<const std::int32_t> b) {
  assert(a.size() == b.size());
  Adjacency edges;
  edges.begin.assign(static_cast<std::size_t>(vertices) + 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ++edges.begin[a[i] + 1];
    ++edges.begin[b[i] + 1];
  }
  std::partial_sum(edges.begin.begin(), edges.begin.end(), edges.begin.begin());
  edges.to.resize(2 * a.size());
  std::vector<std::uint32_t> next(edges.begin.begin(), edges.begin.end() - 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    edges.to[next[a[i]]++] = b[i];
    edges.to[next[b[i]]++] = a[i];
  }
  return edges;
}

Classes equitable_partition(std::span<const std::int32_t> colours,
                            std::span<const Adjacency> kinds_of_edges, int most) {
  Refiner refiner(colours, kinds_of_edges);
  const ColourClasses& partition = refiner.run(most);
  Classes classes;
  classes.class_of.resize(colours.size());
  std::vector<std::int32_t> number(static_cast<std::size_t>(partition.count()), -1);
  for (std::size_t v = 0; v < colours.size(); ++v) {
    std::int32_t& c = number[partition.class_of(static_cast<std::int32_t>(v))];
    if (c < 0) {
      c = classes.count();
      classes.first.push_back(static_cast<std::int32_t>(v));
      classes.size.push_back(0);
    }
    classes.class_of[v] = c;
    ++classes.size[c];
  }
  return classes;
}

}  // namespace collbench

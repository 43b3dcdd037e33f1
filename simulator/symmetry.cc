#include "simulator/symmetry.h"

#include <array>
#include <bit>
#include <cassert>
#include <unordered_map>
#include <utility>

#include "core/stop_request.h"
#include "simulator/pair_table.h"

namespace collbench {
namespace {

// Numbers distinct pairs of numbers, so that equal histories get equal colours without collisions.
class PairNumbering {
 public:
  std::int32_t operator()(std::int32_t a, std::int32_t b) {
    if (std::pair(a, b) == last_pair_) return last_;
    last_pair_ = {a, b};
    std::int32_t& number = numbers_(a, b);
    if (number == 0) number = static_cast<std::int32_t>(numbers_.size());
    return last_ = number;
  }

 private:
  PairTable<std::int32_t> numbers_;
  std::pair<std::int32_t, std::int32_t> last_pair_{-1, -1};
  std::int32_t last_ = 0;
};

// Numbers distinct real numbers by their bits.
class RealNumbering {
 public:
  std::int32_t operator()(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    return numbering_(static_cast<std::int32_t>(bits >> 32U), static_cast<std::int32_t>(bits));
  }

 private:
  PairNumbering numbering_;
};

}  // namespace

// Collects the graph of a program and its colours.
class Survey {
 public:
  Survey(Program& program, Symmetry& symmetry) : program_(program), out_(symmetry) {
    out_.positions_ = program.positions();
    out_.links_ = static_cast<int>(program.capacities().size());
    seen_by_.assign(static_cast<std::size_t>(out_.positions_), -1);
    pair_to_.resize(static_cast<std::size_t>(out_.positions_));
  }

  void collect() {
    find_kinds();
    slots_.resize(out_.kinds_.size());
    for (int p = 0; p < out_.positions_; ++p) {
      leave_if_stopped();
      visit(p);
    }
    out_.first_pair_.push_back(static_cast<std::int32_t>(out_.pairs_.size()));
  }

  void refine(double most) {
    std::vector<std::int32_t> colours = std::move(position_colour_);
    const std::int32_t after_positions = position_chain_size();
    RealNumbering capacity;
    for (const double c : program_.capacities()) colours.push_back(after_positions + capacity(c));
    const std::int32_t after_links = after_positions + out_.links_ + 1;
    for (const std::int32_t c : pair_colour_) colours.push_back(after_links + c);
    pair_colour_ = {};
    const std::array<Adjacency, 3> edges{ends(&Symmetry::Pair::from), ends(&Symmetry::Pair::to),
                                         crossings()};
    const double most_classes = most * static_cast<double>(colours.size());
    out_.classes_ = equitable_partition(colours, edges, static_cast<int>(most_classes));
    count_classes();
  }

 private:
  void find_kinds() {
    std::unordered_map<std::int64_t, std::int32_t> kinds;
    for (int t = 0; t < program_.rounds(); ++t) {
      const auto [found, is_new] = kinds.emplace(program_.pattern(t), out_.kinds_.size());
      if (is_new) out_.kinds_.push_back({t, 0});
      ++out_.kinds_[found->second].count;
      out_.kind_of_.push_back(found->second);
    }
  }

  void visit(int position) {
    out_.first_pair_.push_back(static_cast<std::int32_t>(out_.pairs_.size()));
    std::int32_t colour = position_chain_(0, real_(program_.start(position).count()));
    for (std::size_t k = 0; k < out_.kinds_.size(); ++k) {
      program_.turn(position, out_.kinds_[k].round, turn_);
      const auto kind = static_cast<std::int32_t>(k);
      if (turn_.arrivals > 0 || turn_.reduction.count() > 0) {
        const std::int32_t wait = wait_(turn_.arrivals, real_(turn_.reduction.count()));
        colour = position_chain_(colour, item_(kind, wait));
      }
      for (std::size_t i = 0; i < turn_.sends.size(); ++i) add_flow(position, kind, i);
      out_.flows_ += static_cast<std::int64_t>(turn_.sends.size()) * out_.kinds_[k].count;
    }
    position_colour_.push_back(colour);
    largest_position_colour_ = std::max(largest_position_colour_, colour);
  }

  void add_flow(int from, std::int32_t kind, std::size_t index) {
    const Flow& flow = turn_.sends[index];
    if (seen_by_[flow.to] != from) {
      seen_by_[flow.to] = from;
      pair_to_[flow.to] = static_cast<std::int32_t>(out_.pairs_.size());
      out_.pairs_.push_back({from, flow.to, flow.path});
      pair_colour_.push_back(0);
    }
    const std::int32_t pair = pair_to_[flow.to];
    assert(out_.pairs_[pair].path == flow.path);
    pair_colour_[pair] = colour_after(pair_colour_[pair], flow, kind, index);
  }

  // The colour of a pair of colour `before` that also carries `flow`. The k-th flow of a round is
  // mostly what it was for the position before.
  std::int32_t colour_after(std::int32_t before, const Flow& flow, std::int32_t kind,
                            std::size_t index) {
    std::vector<Slot>& slots = slots_[kind];
    if (index >= slots.size()) slots.resize(index + 1);
    Slot& slot = slots[index];
    const std::array<double, 4> load{flow.wire_bytes, flow.bytes, flow.latency.count(), flow.cap};
    if (slot.item == 0 || slot.load != load) {
      const std::int32_t sizes = load_(real_(load[0]), real_(load[1]));
      const std::int32_t limits = load_(real_(load[2]), real_(load[3]));
      slot = {load, item_(kind, load_(-sizes, limits)), -1, 0};
    }
    if (slot.before != before) {
      slot.before = before;
      slot.after = pair_chain_(before, slot.item);
    }
    return slot.after;
  }

  std::int32_t position_chain_size() const { return largest_position_colour_ + 1; }

  Adjacency ends(std::int32_t Symmetry::Pair::*end) const {
    std::vector<std::int32_t> pairs;
    std::vector<std::int32_t> positions;
    pairs.reserve(out_.pairs_.size());
    positions.reserve(out_.pairs_.size());
    for (std::size_t i = 0; i < out_.pairs_.size(); ++i) {
      pairs.push_back(vertex_of_pair(i));
      positions.push_back(out_.pairs_[i].*end);
    }
    return adjacency(vertices(), pairs, positions);
  }

  Adjacency crossings() const {
    std::vector<std::int32_t> pairs;
    std::vector<std::int32_t> links;
    std::size_t count = 0;
    for (const Symmetry::Pair& pair : out_.pairs_)
      count += program_.paths()[pair.path].links.size();
    pairs.reserve(count);
    links.reserve(count);
    for (std::size_t i = 0; i < out_.pairs_.size(); ++i) {
      for (const LinkPath::Use& use : program_.paths()[out_.pairs_[i].path].links) {
        assert(use.uses == 1);
        pairs.push_back(vertex_of_pair(i));
        links.push_back(out_.positions_ + use.link);
      }
    }
    return adjacency(vertices(), pairs, links);
  }

  std::int32_t vertex_of_pair(std::size_t pair) const {
    return out_.positions_ + out_.links_ + static_cast<std::int32_t>(pair);
  }
  int vertices() const { return vertex_of_pair(out_.pairs_.size()); }

  // Positions come first among the vertices, so their classes have the lowest numbers.
  void count_classes() {
    for (const std::int32_t first : out_.classes_.first) {
      if (first < out_.positions_) {
        ++out_.position_classes_;
      } else if (first < out_.positions_ + out_.links_) {
        ++out_.link_classes_;
      }
    }
  }

  struct Slot {
    std::array<double, 4> load{};
    std::int32_t item = 0;  // number of the load in this kind of round
    std::int32_t before = -1;
    std::int32_t after = 0;
  };

  Program& program_;
  Symmetry& out_;
  Turn turn_;
  std::vector<std::int32_t> seen_by_;  // by receiver: the last sender
  std::vector<std::int32_t> pair_to_;  // by receiver: the pair of that sender
  std::vector<std::vector<Slot>> slots_;
  std::vector<std::int32_t> position_colour_;
  std::vector<std::int32_t> pair_colour_;
  std::int32_t largest_position_colour_ = 0;
  RealNumbering real_;
  PairNumbering wait_;
  PairNumbering load_;
  PairNumbering item_;
  PairNumbering position_chain_;
  PairNumbering pair_chain_;
};

Symmetry::Symmetry(Program& program, double most) {
  Survey survey(program, *this);
  survey.collect();
  survey.refine(most);
}

}  // namespace collbench

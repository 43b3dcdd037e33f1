#include "heuristics/synthesis/pipelining.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/rank_paths.h"
#include "topologies/machine.h"

namespace collbench {
namespace {

/// What the messages of each round cost.
class RoundCosts {
 public:
  RoundCosts(const Topology& topology, const TreePacking& packing, const MessageTimes& message)
      : paths_(topology) {
    std::vector<MessageGaps> sent(static_cast<std::size_t>(packing.ranks));
    std::vector<MessageGaps> received(sent.size());
    const auto pass = [&](Rank from, Rank to, int offset, double weight) {
      const std::vector<Way>* ways = topology.ways(from, to);
      const RouteSummary path = ways == nullptr ? summarize(topology, paths_.links(from, to))
                                                : summarize(topology, *ways);
      latency_ = std::max(latency_, path.latency.count());
      sent[from].add(path.level);
      received[to].add(path.level);
      if (offset >= std::ssize(loads_)) {
        loads_.resize(static_cast<std::size_t>(offset) + 1,
                      std::vector<double>(topology.links().size(), 0));
      }
      paths_.for_each_link(from, to, [&](LinkId link, double share) {
        loads_[offset][link] +=
            share * weight / (topology.capacity(link) * packing.seconds_per_byte);
      });
    };
    const int early = early_way(packing);
    const SumRounds sums(packing, early);
    for (const PackedTree& tree : packing.trees) {
      for_each_hop(tree, sums.of(tree), [&](Rank from, Rank to, int offset, bool) {
        pass(from, to, offset, tree.weight);
      });
    }
    Costs costs;
    costs.message_gap = message.gap;
    Seconds longest{0};
    for (const auto* messages : {&sent, &received}) {
      for (const MessageGaps& of_rank : *messages) {
        longest = std::max(longest, of_rank.beyond_one(costs, nullptr));
      }
    }
    latency_ += message.latency.count() + longest.count();
    add_part(0, early);
    add_part(early, static_cast<int>(loads_.size()));
  }

  /// Of a round of empty pieces: the latency of its slowest message, and what the messages of its
  /// busiest rank wait for each other.
  double latency() const { return latency_; }

  /// Of so many pieces of each tree that follow each other.
  int count(int turns) const {
    int rounds = 0;
    for (const Part& part : parts_) rounds += turns + part.hops() - 1;
    return rounds;
  }

  /// The time of these rounds by their fullest links, over that of a round in which every edge has
  /// a piece (with late ranks, every edge that waits for them).
  double rounds(int turns) const {
    double sum = 0;
    for (const Part& part : parts_) {
      sum += turns < part.hops() ? counted(part, turns)
                                 : part.filling + (turns - part.hops() + 1) * part.full;
    }
    return sum;
  }

 private:
  /// Of the rounds after a piece's first, those before late ranks come or all others. Every piece
  /// has done with the one before any begins with the other.
  struct Part {
    int first;
    int end;
    double filling = 0;  // rounds of one piece less than there are hops
    double full = 0;     // a round in which every edge has a piece
    int hops() const { return end - first; }
  };

  void add_part(int first, int end) {
    if (end == first) return;
    Part part{first, end};
    part.filling = counted(part, part.hops() - 1);
    std::vector<double> load = loads_[first];
    for (int t = first + 1; t < end; ++t) {
      std::transform(load.begin(), load.end(), loads_[t].begin(), load.begin(), std::plus<>());
    }
    part.full = *std::max_element(load.begin(), load.end());
    parts_.push_back(part);
  }

  double counted(const Part& part, int turns) const {
    std::vector<double> load(loads_.front().size(), 0);
    double sum = 0;
    for (int t = 0; t < turns + part.hops() - 1; ++t) {
      double most = 0;
      for (std::size_t l = 0; l < load.size(); ++l) {
        if (t < part.hops()) load[l] += loads_[part.first + t][l];
        if (t >= turns) load[l] -= loads_[part.first + t - turns][l];
        most = std::max(most, load[l]);
      }
      sum += most;
    }
    return sum;
  }

  RankPaths paths_;
  std::vector<std::vector<double>> loads_;  // by rounds after a piece's first, and link
  double latency_ = 0;
  std::vector<Part> parts_;
};

double next_power_of_two(double count) { return std::exp2(std::floor(std::log2(count)) + 1); }

/// Some more pieces; vectors are cut evenly by powers of two.
double next_count(double count) {
  return std::min(std::ceil(count * 1.05), next_power_of_two(count));
}

/// By how much pieces are longer than the mean where elements cannot be dealt out evenly.
double unevenness(Bytes bytes, double pieces) {
  constexpr double element_bytes = 4;
  const double elements = static_cast<double>(bytes.count) / element_bytes / pieces;
  return elements < 1 || elements == std::floor(elements) ? 0 : 1 / elements;
}

}  // namespace

Pipelining pipelining_for(const Topology& topology, const TreePacking& packing, Bytes bytes,
                          const MessageTimes& message, int tracks_asked) {
  constexpr double usual_messages = 4e6;  // of a schedule
  constexpr double bytes_each = 64;       // of a larger vector more, up to four times as many
  constexpr double least_bytes = 1024;    // of a piece
  constexpr double more_filling = 3;      // times as many, and as much smaller, where nothing but
  constexpr double fills_well = 1.0075;   // bytes takes time and filling more than this of it
  constexpr double well_filled = 150;     // pieces per hop: filling then costs some thousandths
  constexpr double ill_filled = 16;       // the least where there are too many messages
  constexpr double too_many_to_play = 8 * usual_messages;  // one by one
  constexpr double worth_more = 5e-4;    // of the time: what more pieces have to gain
  constexpr double worth_tracks = 3e-3;  // and more tracks, whose messages are dear to simulate
  constexpr double never_apart = 1.004;  // of the time, with tracks: now and then they meet
  const RoundCosts costs(topology, packing, message);
  const double latency = costs.latency();
  const double way = longest_way(packing);
  // Of a round over its latency, so that tracks fill links; pieces that are passed on wait longer.
  const double spare = way > 2 ? 5 : 2;
  const double seconds = packing.seconds_per_byte * static_cast<double>(bytes.count);
  const auto trees = static_cast<double>(packing.trees.size());
  const bool is_plain = latency == 0 && tracks_asked <= 1;
  // Tracks cost the simulator more for each message, and fill links while others wait.
  const double most_messages =
      std::clamp(is_plain ? static_cast<double>(bytes.count) / bytes_each : 0, usual_messages,
                 4 * usual_messages);
  const double edges = trees * 2 * packing.ranks;
  const double room = std::min(std::max(most_messages / edges, ill_filled * way),
                               static_cast<double>(bytes.count) / (least_bytes * trees));
  const double most = std::max(1.0, room);
  const double most_at_all = std::max(1.0, is_plain ? more_filling * room : room);
  std::vector<int> counts{1};
  if (tracks_asked > 0) counts = {tracks_asked};
  if (tracks_asked == 0 && !is_plain) counts = {1, 8, 16};
  Pipelining best;
  double least = std::numeric_limits<double>::infinity();
  for (const int tracks : counts) {
    for (double turns = 1; turns * tracks <= most_at_all && turns <= well_filled * way;
         turns = next_count(turns)) {
      const double pieces = turns * tracks;
      if (pieces > most && least <= fills_well * seconds) break;
      // So many messages are played by classes of alike ranks, which equal pieces leave alike.
      const double round_count = next_power_of_two(pieces);
      if (edges * pieces > too_many_to_play && round_count <= most_at_all &&
          unevenness(bytes, trees * pieces) > 0 && unevenness(bytes, trees * round_count) == 0) {
        continue;
      }
      const double rounds = costs.rounds(static_cast<int>(turns));
      const double alone = latency + seconds / pieces;
      const double time =
          tracks == 1 ? rounds * seconds / turns + costs.count(static_cast<int>(turns)) * latency
                      : never_apart * rounds * std::max(seconds / turns, spare * alone) + latency;
      const double uneven = tracks == 1 ? unevenness(bytes, trees * pieces) : 0;
      const double cost = time * (1 + uneven);
      if (cost >= least * (1 - (tracks > best.tracks ? worth_tracks : worth_more))) continue;
      least = cost;
      best = {static_cast<int>(pieces), tracks, Seconds{time}};
    }
  }
  return best;
}

double rounds_of_one_piece(const Topology& topology, const TreePacking& packing) {
  return RoundCosts(topology, packing, {}).rounds(1);
}

}  // namespace collbench

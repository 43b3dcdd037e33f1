#include "heuristics/synthesis/pipelining.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/rank_paths.h"
#include "topologies/machine.h"

namespace collbench {
namespace {

constexpr std::size_t levels = MessageGaps::levels;  // of links; those beyond count as the last

/// What rounds take, by one protocol: bytes, over the time of the packing's fullest link for a
/// piece of every tree, and all else.
struct RoundTimes {
  double fill = 0;
  double latency = 0;

  RoundTimes& operator+=(const RoundTimes& other) {
    fill += other.fill;
    latency += other.latency;
    return *this;
  }
  RoundTimes operator*(double times) const { return {fill * times, latency * times}; }
};
using RoundLadder = std::vector<RoundTimes>;  // by protocol

void add(RoundLadder& sum, const RoundLadder& rounds, double times = 1) {
  for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += rounds[p] * times;
}

/// What the messages of each round cost.
class RoundCosts {
 public:
  RoundCosts(const Topology& topology, const TreePacking& packing, const MessageLadder& ladder)
      : ladder_(ladder), packing_(packing), rates_(topology.links().size()) {
    if (ladder_.empty()) ladder_.emplace_back();
    for (std::size_t link = 0; link < rates_.size(); ++link) {
      rates_[link] = topology.capacity(static_cast<LinkId>(link)) * packing.seconds_per_byte;
    }
    const RankPaths paths(topology);
    const int early = early_way(packing);
    const SumRounds sums(packing, early);
    for (const PackedTree& tree : packing.trees) {
      for_each_hop(tree, sums.of(tree), [&](Rank from, Rank to, int offset, bool) {
        while (offset >= std::ssize(stages_)) stages_.emplace_back(rates_.size(), packing.ranks);
        const std::vector<Way>* ways = topology.ways(from, to);
        const RouteSummary path = ways == nullptr ? summarize(topology, paths.links(from, to))
                                                  : summarize(topology, *ways);
        Stage& stage = stages_[offset];
        stage.pass(from, to, path, tree.weight);
        paths.for_each_link(from, to, [&](LinkId link, double share) {
          stage.load[link] += share * tree.weight / rates_[link];
        });
      });
    }
    add_part(0, early);
    add_part(early, static_cast<int>(stages_.size()));
  }

  /// Whether bytes alone take time.
  bool is_free() const {
    return std::ranges::all_of(full(), [](const RoundTimes& round) { return round.latency == 0; });
  }
  double wire_factor(std::size_t protocol) const { return ladder_[protocol].wire_factor; }

  /// A round in which every edge has a piece (with late ranks, every edge that waits for them, or
  /// else none does): its slowest message, and what those of its busiest rank wait for each other.
  const RoundLadder& full() const { return parts_.back().full; }

  /// The rounds of so many pieces of each tree that follow each other.
  RoundLadder rounds(int turns) const {
    RoundLadder sum(ladder_.size());
    for (const Part& part : parts_) {
      if (turns < part.hops()) {
        add(sum, counted(part, turns));
      } else {
        add(sum, part.filling);
        add(sum, part.full, turns - part.hops() + 1);
      }
    }
    return sum;
  }

 private:
  /// What edges carry that have a piece in the round so long after its first.
  struct Stage {
    Stage(std::size_t links, int ranks)
        : load(links, 0), messages(2 * static_cast<std::size_t>(ranks)) {}

    void pass(Rank from, Rank to, const RouteSummary& path, double weight) {
      const std::size_t level = std::min(static_cast<std::size_t>(path.level), levels - 1);
      ++messages[2 * static_cast<std::size_t>(from)][level];
      ++messages[2 * static_cast<std::size_t>(to) + 1][level];
      heaviest[level] = std::max(heaviest[level], weight);
      latency[level] = std::max(latency[level], path.latency.count());
    }

    std::vector<double> load;                       // by link
    std::vector<std::array<int, levels>> messages;  // of each rank, sent and then received
    std::array<double, levels> heaviest{};  // share of the vector; 0: no message of this level
    std::array<double, levels> latency{};   // of the longest way
  };

  /// Of the rounds after a piece's first, those before late ranks come or all others. Every piece
  /// has done with the one before any begins with the other.
  struct Part {
    int first;
    int end;
    RoundLadder filling{};  // rounds of one piece less than there are hops
    RoundLadder full{};     // a round in which every edge has a piece
    int hops() const { return end - first; }
  };

  void add_part(int first, int end) {
    if (end == first) return;
    Part part{first, end};
    part.filling = counted(part, part.hops() - 1);
    Stage all(rates_.size(), packing_.ranks);
    for (int t = first; t < end; ++t) move(all, t, 1);
    part.full = round_of(all, first, end);
    parts_.push_back(std::move(part));
  }

  RoundLadder counted(const Part& part, int turns) const {
    Stage active(rates_.size(), packing_.ranks);
    RoundLadder sum(ladder_.size());
    for (int t = 0; t < turns + part.hops() - 1; ++t) {
      if (t < part.hops()) move(active, part.first + t, 1);
      if (t >= turns) move(active, part.first + t - turns, -1);
      add(sum, round_of(active, part.first + std::max(0, t - turns + 1),
                        part.first + std::min(t + 1, part.hops())));
    }
    return sum;
  }

  /// The edges of a stage begin to have a piece, or else have none any more.
  void move(Stage& active, int stage, int times) const {
    const Stage& moved = stages_[stage];
    for (std::size_t l = 0; l < moved.load.size(); ++l) active.load[l] += times * moved.load[l];
    for (std::size_t m = 0; m < moved.messages.size(); ++m) {
      for (std::size_t level = 0; level < levels; ++level) {
        active.messages[m][level] += times * moved.messages[m][level];
      }
    }
  }

  /// A round in which the edges of stages `first` to `end` have a piece, whose sum is `active`.
  RoundLadder round_of(const Stage& active, int first, int end) const {
    const double fullest = *std::ranges::max_element(active.load);
    RoundLadder times;
    for (const MessageTimes& message : ladder_) {
      RoundTimes round{.fill = fullest};
      for (int t = first; t < end; ++t) {
        for (std::size_t level = 0; level < levels; ++level) {
          const double weight = stages_[t].heaviest[level];
          if (weight == 0) continue;
          const double cap = message.cap[level].bytes_per_second * packing_.seconds_per_byte;
          if (cap > 0) round.fill = std::max(round.fill, weight / cap);
          round.latency =
              std::max(round.latency, stages_[t].latency[level] + message.latency[level].count());
        }
      }
      round.latency += longest_wait(active, message);
      times.push_back(round);
    }
    return times;
  }

  static double longest_wait(const Stage& active, const MessageTimes& message) {
    const bool is_free =
        std::ranges::all_of(message.gap, [](Seconds gap) { return gap.count() == 0; });
    double longest = 0;
    if (is_free) return longest;
    for (const std::array<int, levels>& of_rank : active.messages) {
      double sum = 0;
      double largest = 0;
      for (std::size_t level = 0; level < levels; ++level) {
        if (of_rank[level] == 0) continue;
        sum += of_rank[level] * message.gap[level].count();
        largest = std::max(largest, message.gap[level].count());
      }
      longest = std::max(longest, sum - largest);
    }
    return longest;
  }

  MessageLadder ladder_;
  const TreePacking& packing_;
  std::vector<double> rates_;  // of links, over that of the fullest
  std::vector<Stage> stages_;  // by rounds after a piece's first
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

/// What bytes and the latencies of a piece take together where tracks have one each: bytes that
/// take longer hide most of the others. The power is measured on pairs of nodes, within a tenth.
double with_hidden(double bytes, double latencies) {
  constexpr double power = 1.5;
  if (bytes < latencies) return bytes + latencies;
  return std::pow(std::pow(bytes, power) + std::pow(latencies, power), 1 / power);
}

/// What pieces take that follow each other along every tree in so many `turns` of each track, with
/// the protocol that suits them. `seconds`: of the fullest link.
///
/// Links are never idle where each track takes its turn alone for a `spare`-th of the time. Where
/// it takes longer, tracks that wait for the same messages still fill a part of what others leave:
/// some, since they begin with pieces of different sizes, and then about as much whatever they are.
double time_of(const RoundCosts& costs, int turns, int tracks, double seconds, double spare) {
  constexpr double never_apart = 1.004;  // of the time, with tracks: now and then they meet
  constexpr double left_idle = 0.6;      // measured: 0.55 to 0.61 of what one track leaves
  const double idle = turns == 1 ? 1 / std::sqrt(tracks) : left_idle;
  const RoundLadder rounds = costs.rounds(turns);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < rounds.size(); ++p) {
    const double all = seconds * costs.wire_factor(p);
    const double turn = all / turns;
    const double filling = std::max(0.0, rounds[p].fill * turn - all);
    const double latency = costs.full()[p].latency;
    const double apart =
        rounds[p].fill * std::max(turn, spare * (latency + turn / tracks)) + latency;
    const double filled = all + idle * filling;
    const double in_step =
        turns > 1 ? filled + rounds[p].latency : with_hidden(filled, rounds[p].latency);
    const double time =
        tracks == 1 ? rounds[p].latency + all + filling : never_apart * std::min(apart, in_step);
    least = std::min(least, time);
  }
  return least;
}

}  // namespace

Pipelining pipelining_for(const Topology& topology, const TreePacking& packing, Bytes bytes,
                          const MessageLadder& ladder, int tracks_asked) {
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
  const RoundCosts costs(topology, packing, ladder);
  const double way = longest_way(packing);
  // Of a round over its latency, so that tracks fill links; pieces that are passed on wait longer.
  const double spare = way > 2 ? 5 : 2;
  const double seconds = packing.seconds_per_byte * static_cast<double>(bytes.count);
  const auto trees = static_cast<double>(packing.trees.size());
  const bool is_plain = tracks_asked <= 1 && costs.is_free();
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
      const double time = time_of(costs, static_cast<int>(turns), tracks, seconds, spare);
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
  return RoundCosts(topology, packing, {}).rounds(1).front().fill;
}

}  // namespace collbench

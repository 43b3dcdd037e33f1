#include "heuristics/synthesis/packed_schedule.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"
#include "heuristics/synthesis/timetable.h"

namespace collbench {
namespace {

/// `chunks` as whole shares next to the weights: chunk i goes where (i + offset) / chunks falls.
/// With other offsets others are rounded up.
std::vector<int> whole_shares(const std::vector<double>& weights, int chunks, double offset) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int> shares;
  double end = 0;
  int given = 0;
  for (const double weight : weights) {
    end += weight / total * chunks;
    const int up_to = std::clamp(static_cast<int>(std::ceil(end - offset - 1e-6)), given, chunks);
    shares.push_back(up_to - given);
    given = up_to;
  }
  shares.back() += chunks - given;
  return shares;
}

/// How many of `chunks` chunks follow each tree; every root has as many where they are its own.
std::vector<int> shares_of(const TreePacking& packing, int chunks) {
  const bool by_rank = packing.goal != CollectiveKind::all_reduce;
  std::vector<int> shares;
  for (auto first = packing.trees.begin(); first != packing.trees.end();) {
    const auto of_other = [&](const PackedTree& tree) {
      return by_rank && tree.root != first->root;
    };
    const auto last = std::find_if(first, packing.trees.end(), of_other);
    std::vector<double> weights;
    for (auto tree = first; tree != last; ++tree) weights.push_back(tree->weight);
    const std::vector<int> part = whole_shares(weights, by_rank ? chunks / packing.ranks : chunks,
                                               (first->root + 0.5) / packing.ranks);
    shares.insert(shares.end(), part.begin(), part.end());
    first = last;
  }
  return shares;
}

/// Chunks of all trees in turn, evenly.
std::vector<ChunkOnTree> in_turn(const TreePacking& packing, int chunks) {
  const bool by_rank = packing.goal != CollectiveKind::all_reduce;
  const std::vector<int> shares = shares_of(packing, chunks);
  std::vector<std::pair<double, int>> turns;
  for (std::size_t j = 0; j < shares.size(); ++j) {
    for (int i = 0; i < shares[j]; ++i) {
      turns.emplace_back((i + 0.5) / shares[j], static_cast<int>(j));
    }
  }
  std::stable_sort(turns.begin(), turns.end());
  std::vector<int> next(by_rank ? packing.ranks : 1, 0);
  for (std::size_t r = 0; r < next.size(); ++r) {
    next[r] = static_cast<int>(r) * (chunks / static_cast<int>(next.size()));
  }
  std::vector<ChunkOnTree> order;
  for (const auto& [turn, tree] : turns) {
    order.push_back({next[by_rank ? packing.trees[tree].root : 0]++, tree});
  }
  return order;
}

/// The operations of every rank in every round, one after the other.
class TabledHops {
 public:
  TabledHops(const std::vector<TimedHop>& hops, int ranks) : ranks_(ranks) {
    const int rounds = hops.empty() ? 0 : hops.back().round + 1;
    first_.assign(static_cast<std::size_t>(rounds) * ranks + 1, 0);
    for (const TimedHop& hop : hops) {
      ++first_[turn(hop.from, hop.round) + 1];
      ++first_[turn(hop.to, hop.round) + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    ops_.resize(first_.back());
    for (const TimedHop& hop : hops) {
      ops_[next[turn(hop.from, hop.round)]++] = {OpKind::send, hop.to, {hop.chunk, 1}};
      ops_[next[turn(hop.to, hop.round)]++] = {
          hop.reduces ? OpKind::recv_reduce : OpKind::recv, hop.from, {hop.chunk, 1}};
    }
  }

  int rounds() const { return static_cast<int>((first_.size() - 1) / ranks_); }
  void round(Rank rank, int t, Round& out) const {
    const std::size_t at = turn(rank, t);
    for (std::size_t i = first_[at]; i < first_[at + 1]; ++i) out.push(ops_[i]);
  }

 private:
  std::size_t turn(Rank rank, int t) const { return static_cast<std::size_t>(t) * ranks_ + rank; }

  int ranks_;
  std::vector<std::size_t> first_;  // by turn, and the end
  std::vector<Op> ops_;
};

}  // namespace

Chunking chunking_for(const Topology& topology, const TreePacking& packing, Bytes bytes) {
  constexpr double most_hops = 4e6;
  constexpr double most_chunks = 32768;
  constexpr double least_bytes = 4096;  // of a chunk: real messages cost time of their own
  const RankPaths paths(topology);
  Seconds latency{0};
  bool is_direct = true;
  for (const PackedTree& tree : packing.trees) {
    const std::vector<Rank>& parents = tree.reduce.empty() ? tree.broadcast : tree.reduce;
    for (Rank r = 0; r < packing.ranks; ++r) {
      if (r == tree.root) continue;
      const auto links = paths.links(parents[r], r);
      latency = std::max(latency, summarize(topology, links).latency);
      is_direct = is_direct && links.size() <= 1;
    }
  }
  const double way = longest_way(packing);
  const double seconds = packing.seconds_per_byte * static_cast<double>(bytes.count);
  double rounds = (is_direct ? 150 : 60) * way;  // then filling costs about a percent at most
  if (latency.count() > 0) rounds = std::min(rounds, std::sqrt(way * seconds / latency.count()));
  rounds = std::max(rounds, 1.0);
  const double per_chunk = packing.seconds_per_byte * slowest_well_used(topology, packing);
  const double most = std::max(1.0, std::min({most_chunks, most_hops / (2 * packing.ranks),
                                              static_cast<double>(bytes.count) / least_bytes}));
  Chunking chunking{1, is_direct ? 8 : 32};
  while (chunking.room > (is_direct ? 4 : 8) && rounds * chunking.room / per_chunk > most)
    chunking.room /= 2;
  chunking.chunks =
      static_cast<int>(std::clamp(rounds * chunking.room / per_chunk,
                                  std::min(most, static_cast<double>(packing.trees.size())), most));
  return chunking;
}

Schedule packed_schedule(const Topology& topology, const TreePacking& packing,
                         const Chunking& chunking, const std::string& name) {
  constexpr int most_chunks = 1 << 20;
  require(chunking.chunks >= 1 && chunking.chunks <= most_chunks && chunking.room >= 1,
          fmt::format("{}: chunks must be from 1 to {} and the room of a round at least 1, not {} "
                      "and {}",
                      name, most_chunks, chunking.chunks, chunking.room));
  require(!packing.trees.empty(), fmt::format("{}: there is no tree to play", name));
  const bool by_rank = packing.goal != CollectiveKind::all_reduce;
  const int per_rank = (chunking.chunks + packing.ranks - 1) / packing.ranks;
  const int chunks = by_rank ? per_rank * packing.ranks : chunking.chunks;
  const auto table = std::make_shared<const TabledHops>(
      timetable(topology, packing, in_turn(packing, chunks), chunking.room), packing.ranks);
  return {name,
          {.ranks = packing.ranks, .chunks = chunks, .rounds = table->rounds()},
          [table](Rank rank, int t, Round& out) { table->round(rank, t, out); },
          by_rank ? share_partition(packing.ranks, per_rank) : Partition{}};
}

int longest_way(const TreePacking& packing) {
  int longest = 0;
  for (const PackedTree& tree : packing.trees) {
    int way = 0;
    for (const std::vector<Rank>* parents : {&tree.reduce, &tree.broadcast}) {
      if (parents->empty()) continue;
      const std::vector<int> depth = depths(*parents);
      way += *std::max_element(depth.begin(), depth.end());
    }
    longest = std::max(longest, way);
  }
  return longest;
}

}  // namespace collbench

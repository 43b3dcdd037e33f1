#include "transports/play/fusion.h"

#include <algorithm>
#include <numeric>

namespace collbench {

namespace {

constexpr int most_ranks = 512;

// What round 0 and round 1 say about each chunk, gathered over all ranks.
struct ChunkUse {
  Rank owner = -1;
  std::vector<Rank> order;  // the owner's fold, own term included
  int sent_to_owner = 0;
  int received = 0;
};

// The owner's fold from its group: the own term leads unless its place is marked.
void append_source(ChunkUse& use, Rank rank, Rank peer, bool& marked) {
  if (peer == rank) marked = true;
  use.order.push_back(peer);
}

// Notes one operation; false if it does not fit the shape.
bool note(const Op& op, Rank rank, int round, std::vector<ChunkUse>& uses,
          std::vector<char>& marked) {
  for (int c = op.chunks.first; c < op.chunks.first + op.chunks.count; ++c) {
    const auto i = static_cast<std::size_t>(c);
    ChunkUse& use = uses[i];
    if (round == 0 && op.kind == OpKind::recv_reduce) {
      if (use.owner != -1 && use.owner != rank) return false;
      use.owner = rank;
      bool mark = marked[i] != 0;
      append_source(use, rank, op.peer, mark);
      marked[i] = mark ? 1 : 0;
    } else if (round == 0 && op.kind == OpKind::send) {
      ++use.sent_to_owner;
    } else if (round == 1 && op.kind == OpKind::recv) {
      if (use.owner == rank || op.peer != use.owner) return false;
      ++use.received;
    } else if (round == 1 && op.kind == OpKind::send) {
      if (use.owner != rank) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool is_permutation_of_ranks(const std::vector<Rank>& order, int ranks) {
  std::vector<Rank> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<Rank> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return sorted == all;
}

// The use of every chunk, or empty if some chunk does not have one owner, all terms, all receivers.
std::vector<ChunkUse> chunk_uses(const Schedule& schedule) {
  const int n = schedule.ranks();
  std::vector<ChunkUse> uses(static_cast<std::size_t>(schedule.chunks()));
  std::vector<char> marked(uses.size(), 0);
  Round round;
  for (int t = 0; t < 2; ++t) {
    for (Rank r = 0; r < n; ++r) {
      schedule.round(r, t, round);
      for (const Op& op : round.ops()) {
        if (!note(op, r, t, uses, marked)) return {};
      }
    }
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    ChunkUse& use = uses[i];
    if (marked[i] == 0) use.order.insert(use.order.begin(), use.owner);
    const bool whole = use.sent_to_owner == n - 1 && use.received == n - 1;
    if (!whole || !is_permutation_of_ranks(use.order, n)) return {};
  }
  return uses;
}

bool owns_evenly(const std::vector<ChunkUse>& uses, int ranks) {
  std::vector<int> owned(static_cast<std::size_t>(ranks), 0);
  for (const ChunkUse& use : uses) ++owned[static_cast<std::size_t>(use.owner)];
  return std::all_of(owned.begin(), owned.end(), [&](int k) { return k == owned[0]; });
}

int order_row(Fusion& fusion, const std::vector<Rank>& order) {
  const auto found = std::find(fusion.orders.begin(), fusion.orders.end(), order);
  if (found == fusion.orders.end()) {
    fusion.orders.push_back(order);
    return static_cast<int>(fusion.orders.size()) - 1;
  }
  return static_cast<int>(found - fusion.orders.begin());
}

}  // namespace

std::optional<Fusion> fuse(const Schedule& schedule, std::int64_t count, int element_bytes) {
  const int n = schedule.ranks();
  if (schedule.rounds() != 2 || n < 2 || n > most_ranks) return {};
  const std::vector<ChunkUse> uses = chunk_uses(schedule);
  if (uses.empty()) return {};
  Fusion fusion;
  fusion.ranks = n;
  fusion.even = owns_evenly(uses, n);
  for (int c = 0; c < schedule.chunks(); ++c) {
    const ChunkUse& use = uses[static_cast<std::size_t>(c)];
    const std::int64_t first = schedule.partition()(c, count, element_bytes);
    const std::int64_t last = schedule.partition()(c + 1, count, element_bytes);
    if (first == last) continue;
    const int order = order_row(fusion, use.order);
    const bool joins = !fusion.pieces.empty() && fusion.pieces.back().order == order &&
                       (fusion.even || fusion.pieces.back().owner == use.owner);
    if (joins) {
      fusion.pieces.back().count += last - first;
    } else {
      fusion.pieces.push_back({use.owner, first, last - first, order});
    }
  }
  return fusion;
}

}  // namespace collbench

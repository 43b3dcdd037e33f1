#include "transports/play/fusion.h"

#include <algorithm>
#include <numeric>

#include "algorithms/resolve.h"

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

// Applies `note` to the use of each of the chunks; false if it is for one.
template <class Note>
bool all_of(std::vector<ChunkUse>& uses, Chunks chunks, Note note) {
  const auto first = uses.begin() + chunks.first;
  return std::all_of(first, first + chunks.count, note);
}

// Whether what a rank does in round 0 fits the shape: it folds what it owns.
bool note_folds(const ResolvedRound& round, Rank rank, std::vector<ChunkUse>& uses) {
  for (const Op& op : round.sends()) {
    all_of(uses, op.chunks, [](ChunkUse& use) { return ++use.sent_to_owner > 0; });
  }
  for (const Receipt& receipt : round.receipts()) {
    const std::span<const Rank> sources = round.sources(receipt);
    const auto own = [&](ChunkUse& use) {
      if (use.owner != -1) return false;
      use.owner = rank;
      use.order.assign(sources.begin(), sources.end());
      return true;
    };
    if (!receipt.folds || !all_of(uses, receipt.chunks, own)) return false;
  }
  return true;
}

// The same of round 1: it sends what it owns and stores the rest from its owners.
bool note_copies(const ResolvedRound& round, Rank rank, std::vector<ChunkUse>& uses) {
  for (const Op& op : round.sends()) {
    if (!all_of(uses, op.chunks, [&](ChunkUse& use) { return use.owner == rank; })) return false;
  }
  for (const Receipt& receipt : round.receipts()) {
    const Rank from = round.sources(receipt).front();
    const auto store = [&](ChunkUse& use) {
      ++use.received;
      return use.owner == from;
    };
    if (receipt.folds || !all_of(uses, receipt.chunks, store)) return false;
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
  ResolvedRound round;
  for (int t = 0; t < 2; ++t) {
    for (Rank r = 0; r < n; ++r) {
      resolve(schedule, r, t, round);
      if (t == 0 ? !note_folds(round, r, uses) : !note_copies(round, r, uses)) return {};
    }
  }
  for (const ChunkUse& use : uses) {
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

#include "algorithms/fusion.h"

#include <algorithm>
#include <numeric>

#include "algorithms/resolve.h"

namespace collbench {

namespace {

constexpr int most_fused_ranks = 512;

// What the rounds say about each chunk, gathered over all ranks.
struct ChunkUse {
  Rank owner = -1;          // the first rank that folds it
  std::vector<Rank> order;  // of all folds, own term included
  int sent = 0;             // in round 0
  int folded = 0;
  int stored = 0;
};

// Whether `fits`, which may note something, holds for the uses of all the chunks.
template <class Fits>
bool all_fit(std::vector<ChunkUse>& uses, Chunks chunks, Fits fits) {
  const auto first = uses.begin() + chunks.first;
  return std::all_of(first, first + chunks.count, fits);
}

// Notes what a rank does in round 0; false if it does anything but folding a chunk as others do.
bool note_folds(const ResolvedRound& round, Rank rank, std::vector<ChunkUse>& uses) {
  for (const Op& op : round.sends()) {
    all_fit(uses, op.chunks, [](ChunkUse& use) { return ++use.sent > 0; });
  }
  for (const Receipt& receipt : round.receipts()) {
    const std::span<const Rank> sources = round.sources(receipt);
    const auto fold = [&](ChunkUse& use) {
      if (use.folded++ == 0) {
        use.owner = rank;
        use.order.assign(sources.begin(), sources.end());
      }
      return std::equal(sources.begin(), sources.end(), use.order.begin(), use.order.end());
    };
    if (!receipt.folds || !all_fit(uses, receipt.chunks, fold)) return false;
  }
  return true;
}

// The same of round 1: it sends what it owns and stores the rest from its owners.
bool note_copies(const ResolvedRound& round, Rank rank, std::vector<ChunkUse>& uses) {
  for (const Op& op : round.sends()) {
    if (!all_fit(uses, op.chunks, [&](ChunkUse& use) { return use.owner == rank; })) return false;
  }
  for (const Receipt& receipt : round.receipts()) {
    const Rank from = round.sources(receipt).front();
    const auto store = [&](ChunkUse& use) {
      ++use.stored;
      return use.owner == from;
    };
    if (receipt.folds || !all_fit(uses, receipt.chunks, store)) return false;
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

// The use of every chunk, or empty if some chunk is not folded by one rank and stored by the
// others, or in one round by all, and from all terms.
std::vector<ChunkUse> chunk_uses(const Schedule& schedule) {
  const int n = schedule.ranks();
  std::vector<ChunkUse> uses(static_cast<std::size_t>(schedule.chunks()));
  ResolvedRound round;
  for (int t = 0; t < schedule.rounds(); ++t) {
    for (Rank r = 0; r < n; ++r) {
      resolve(schedule, r, t, round);
      if (t == 0 ? !note_folds(round, r, uses) : !note_copies(round, r, uses)) return {};
    }
  }
  const int owners = schedule.rounds() == 1 ? n : 1;
  for (const ChunkUse& use : uses) {
    const bool whole =
        use.folded == owners && use.sent == owners * (n - 1) && use.stored == n - owners;
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
  const int rounds = schedule.rounds();
  const bool small = count * element_bytes <= most_shown_bytes;
  if (!(rounds == 2 || (rounds == 1 && small)) || n < 2 || n > most_fused_ranks) return {};
  const std::vector<ChunkUse> uses = chunk_uses(schedule);
  if (uses.empty()) return {};
  Fusion fusion;
  fusion.ranks = n;
  fusion.rounds = rounds;
  fusion.even = rounds == 1 || owns_evenly(uses, n);
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

#include "algorithms/fusion.h"

#include <algorithm>
#include <numeric>

#include "algorithms/resolve.h"

namespace collbench {

namespace {

constexpr int most_fused_ranks = 512;

// What the rounds say about each chunk, gathered over all ranks.
struct ChunkUse {
  Rank owner = -1;          // the first rank that folds it; of an all-gather, who has it
  std::vector<Rank> order;  // of all folds, own term included
  int sent = 0;             // in the round of the folds
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

// The same of the last round: it sends what it owns and stores the rest from its owners.
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

// Whether each of the uses is by as many ranks as there must be: `owners` fold a chunk, from all
// terms, and all other ranks store it.
bool are_whole(const std::vector<ChunkUse>& uses, int ranks, int owners, int stores) {
  return std::ranges::all_of(uses, [&](const ChunkUse& use) {
    if (use.stored != stores) return false;
    if (owners == 0) return true;
    return use.folded == owners && use.sent == owners * (ranks - 1) &&
           is_permutation_of_ranks(use.order, ranks);
  });
}

// The use of every chunk, or empty if some chunk is not folded by one rank and stored by the
// others, or in one round by all, and from all terms; of a reduce-scatter, if it is not folded in
// one round by its owner; of an all-gather, if it is not stored in one round by all others.
std::vector<ChunkUse> chunk_uses(const Schedule& schedule, CollectiveKind kind) {
  const int n = schedule.ranks();
  std::vector<ChunkUse> uses(static_cast<std::size_t>(schedule.chunks()));
  const bool copies = kind == CollectiveKind::all_gather;
  for (int c = 0; copies && c < schedule.chunks(); ++c) {
    const Rank owner = source_of({kind}, c, n, schedule.chunks());
    uses[static_cast<std::size_t>(c)] = {.owner = owner, .order = {owner}};
  }
  ResolvedRound round;
  for (int t = 0; t < schedule.rounds(); ++t) {
    for (Rank r = 0; r < n; ++r) {
      resolve(schedule, r, t, round);
      const bool fits =
          t == 0 && !copies ? note_folds(round, r, uses) : note_copies(round, r, uses);
      if (!fits) return {};
    }
  }
  const bool all_fold = kind == CollectiveKind::all_reduce && schedule.rounds() == 1;
  const int owners = copies ? 0 : all_fold ? n : 1;
  const int stores = kind == CollectiveKind::reduce_scatter || all_fold ? 0 : n - 1;
  return are_whole(uses, n, owners, stores) ? uses : std::vector<ChunkUse>{};
}

bool owns_evenly(const std::vector<ChunkUse>& uses, int ranks) {
  std::vector<int> owned(static_cast<std::size_t>(ranks), 0);
  for (const ChunkUse& use : uses) ++owned[static_cast<std::size_t>(use.owner)];
  return std::all_of(owned.begin(), owned.end(), [&](int k) { return k == owned[0]; });
}

int row_of(Fusion& fusion, const std::vector<Rank>& list) {
  const auto found = std::find(fusion.lists.begin(), fusion.lists.end(), list);
  if (found == fusion.lists.end()) {
    fusion.lists.push_back(list);
    return static_cast<int>(fusion.lists.size()) - 1;
  }
  return static_cast<int>(found - fusion.lists.begin());
}

// Who gets a chunk of that owner. In place an owner has what it copies.
std::vector<Rank> receivers_of(const Fusion& fusion, Rank owner) {
  if (fusion.kind == CollectiveKind::reduce_scatter) return {owner};
  std::vector<Rank> all(static_cast<std::size_t>(fusion.ranks));
  std::iota(all.begin(), all.end(), 0);
  if (fusion.kind == CollectiveKind::all_gather && fusion.in_place) all.erase(all.begin() + owner);
  return all;
}

// Whether every rank can show all that it has.
bool can_be_shown(const Fusion& fusion, int element_bytes) {
  return std::ranges::all_of(fusion.before, [&](const Elements& held) {
    return held.count * element_bytes <= most_shown_bytes;
  });
}

void add_pieces(const Schedule& schedule, int element_bytes, const std::vector<ChunkUse>& uses,
                Fusion& fusion) {
  for (int c = 0; c < schedule.chunks(); ++c) {
    const ChunkUse& use = uses[static_cast<std::size_t>(c)];
    const std::int64_t first = schedule.partition()(c, fusion.count, element_bytes);
    const std::int64_t last = schedule.partition()(c + 1, fusion.count, element_bytes);
    if (first == last) continue;
    const int sources = row_of(fusion, use.order);
    const int receivers = row_of(fusion, receivers_of(fusion, use.owner));
    Fusion::Piece* const before = fusion.pieces.empty() ? nullptr : &fusion.pieces.back();
    const bool joins = before != nullptr && before->sources == sources &&
                       before->receivers == receivers &&
                       (fusion.even || before->owner == use.owner);
    if (joins) {
      before->count += last - first;
    } else {
      fusion.pieces.push_back({use.owner, first, last - first, sources, receivers});
    }
  }
}

}  // namespace

std::optional<Fusion> fuse(const Schedule& schedule, std::int64_t count, int element_bytes,
                           const Collective& collective, bool in_place) {
  const int n = schedule.ranks();
  const CollectiveKind kind = collective.kind;
  const bool all_reduces = kind == CollectiveKind::all_reduce;
  if (has_root(kind) || n < 2 || n > most_fused_ranks) return {};
  Fusion fusion{.kind = kind, .ranks = n, .count = count, .in_place = in_place};
  for (Rank r = 0; r < n; ++r) {
    fusion.before.push_back(elements_before(collective, r, n, count));
    fusion.after.push_back(elements_after(collective, r, n, count));
  }
  fusion.shown = schedule.rounds() == 1 && can_be_shown(fusion, element_bytes);
  const bool passes = schedule.rounds() == (all_reduces ? 2 : 1);
  if (!fusion.shown && !passes) return {};
  const std::vector<ChunkUse> uses = chunk_uses(schedule, kind);
  if (uses.empty()) return {};
  fusion.even = fusion.shown || owns_evenly(uses, n);
  add_pieces(schedule, element_bytes, uses, fusion);
  return fusion;
}

}  // namespace collbench

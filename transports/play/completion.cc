#include "transports/play/completion.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "algorithms/resolve.h"

namespace collbench {

namespace {

using Counts = std::vector<int>;

// The counts of all ranks' chunks, and the round's messages on their way.
struct Player {
  std::vector<Counts> held;                                       // per rank, per chunk
  std::map<std::pair<Rank, Rank>, std::deque<Counts>> in_flight;  // (from, to), first in first out

  void send(Rank r, const Op& op) {
    const auto begin = held[static_cast<std::size_t>(r)].begin() + op.chunks.first;
    in_flight[{r, op.peer}].emplace_back(begin, begin + op.chunks.count);
  }

  // The counts that the chunks of a receipt then hold.
  std::span<const int> receive(Rank r, const ResolvedRound& round, const Receipt& receipt) {
    const auto begin = held[static_cast<std::size_t>(r)].begin() + receipt.chunks.first;
    if (!receipt.folds) std::fill_n(begin, receipt.chunks.count, 0);
    for (const Rank source : round.sources(receipt)) {
      if (source == r) continue;  // the own term, counted already
      auto& queue = in_flight[{source, r}];
      assert(!queue.empty());
      std::transform(queue.front().begin(), queue.front().end(), begin, begin, std::plus<>());
      queue.pop_front();
    }
    return {begin, static_cast<std::size_t>(receipt.chunks.count)};
  }
};

}  // namespace

Completion find_completion(const Schedule& schedule, Rank rank) {
  const auto n = static_cast<std::size_t>(schedule.ranks());
  const auto chunks = static_cast<std::size_t>(schedule.chunks());
  Player player{std::vector<Counts>(n, Counts(chunks, 1)), {}};
  Completion found;
  found.chunks = schedule.chunks();
  found.completes.resize(static_cast<std::size_t>(schedule.rounds()) * chunks, false);
  std::vector<ResolvedRound> rounds(n);
  for (int t = 0; t < schedule.rounds(); ++t) {
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      ResolvedRound& round = rounds[static_cast<std::size_t>(r)];
      resolve(schedule, r, t, round);
      for (const Op& op : round.sends()) player.send(r, op);
    }
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      const ResolvedRound& round = rounds[static_cast<std::size_t>(r)];
      for (const Receipt& receipt : round.receipts()) {
        const std::span<const int> counts = player.receive(r, round, receipt);
        if (!receipt.folds) continue;
        const auto done = std::count(counts.begin(), counts.end(), schedule.ranks());
        if (done != 0 && done != receipt.chunks.count) found.whole_operations = false;
        if (r != rank) continue;
        const auto row = found.completes.begin() +
                         static_cast<std::ptrdiff_t>(static_cast<std::size_t>(t) * chunks) +
                         receipt.chunks.first;
        std::transform(counts.begin(), counts.end(), row,
                       [&](int count) { return count == schedule.ranks(); });
      }
    }
  }
  return found;
}

}  // namespace collbench

#include "transports/play/completion.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <map>
#include <utility>

namespace collbench {

namespace {

using Counts = std::vector<int>;

// The counts of one rank's chunks, and the round's messages on their way to it.
struct Player {
  const Schedule& schedule;
  std::vector<Counts> held;                                       // per rank, per chunk
  std::map<std::pair<Rank, Rank>, std::deque<Counts>> in_flight;  // (from, to), first in first out

  void send_all(int t, Round& round) {
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      schedule.round(r, t, round);
      for (const Op& op : round.ops()) {
        if (op.kind != OpKind::send) continue;
        const auto begin = held[static_cast<std::size_t>(r)].begin() + op.chunks.first;
        in_flight[{r, op.peer}].emplace_back(begin, begin + op.chunks.count);
      }
    }
  }

  // Applies one receive; the counts that its chunks then hold.
  void receive(Rank r, const Op& op) {
    if (op.peer == r) return;  // the own term, counted already
    auto& queue = in_flight[{op.peer, r}];
    assert(!queue.empty());
    Counts& mine = held[static_cast<std::size_t>(r)];
    for (int i = 0; i < op.chunks.count; ++i) {
      int& count = mine[static_cast<std::size_t>(op.chunks.first + i)];
      const int incoming = queue.front()[static_cast<std::size_t>(i)];
      count = op.kind == OpKind::recv ? incoming : count + incoming;
    }
    queue.pop_front();
  }
};

}  // namespace

Completion find_completion(const Schedule& schedule, Rank rank) {
  const auto n = static_cast<std::size_t>(schedule.ranks());
  const auto chunks = static_cast<std::size_t>(schedule.chunks());
  Player player{schedule, std::vector<Counts>(n, Counts(chunks, 1)), {}};
  Completion found;
  found.chunks = schedule.chunks();
  found.completes.resize(static_cast<std::size_t>(schedule.rounds()) * chunks, false);
  Round round;
  for (int t = 0; t < schedule.rounds(); ++t) {
    player.send_all(t, round);
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      schedule.round(r, t, round);
      for (const Op& op : round.ops()) {
        if (op.kind != OpKind::send) player.receive(r, op);
      }
      const Counts& mine = player.held[static_cast<std::size_t>(r)];
      for (const Op& op : round.ops()) {
        if (op.kind != OpKind::recv_reduce) continue;
        const auto begin = mine.begin() + op.chunks.first;
        const auto done = std::count(begin, begin + op.chunks.count, schedule.ranks());
        if (done != 0 && done != op.chunks.count) found.whole_operations = false;
        if (r != rank) continue;
        for (int c = op.chunks.first; c < op.chunks.first + op.chunks.count; ++c) {
          const bool complete = mine[static_cast<std::size_t>(c)] == schedule.ranks();
          found.completes[static_cast<std::size_t>(t) * chunks + static_cast<std::size_t>(c)] =
              complete;
        }
      }
    }
  }
  return found;
}

}  // namespace collbench

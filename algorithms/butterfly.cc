#include <bit>
#include <cassert>
#include <memory>
#include <vector>

#include "algorithms/combinators.h"
#include "algorithms/reduce_scatter.h"

namespace collbench {
int floor_power_of_two(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }

namespace {

int floor_log2(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }

// Gives `rank` and those it reaches by exchanges from round t on the places [first, first + size):
// its own half first, then its partner's. Pairs of round t so share one aligned range of places.
void place(Rank rank, int t, int first, int size, const Partner& partner, std::vector<int>& out) {
  if (size == 1) {
    out[rank] = first;
    return;
  }
  place(rank, t + 1, first, size / 2, partner, out);
  place(partner(rank, t), t + 1, first + size / 2, size / 2, partner, out);
}

}  // namespace

Phases butterfly_phases(int ranks, const Partner& partner) {
  assert(std::has_single_bit(static_cast<unsigned>(ranks)));
  const auto places = std::make_shared<std::vector<int>>(ranks);
  place(0, 0, 0, ranks, partner, *places);
  // Before round t a rank works on an aligned range of n / 2^t places; it keeps the half with its
  // own place and sends the half with its partner's.
  const auto play = [ranks, partner, places](Rank r, int t, Round& out) {
    const Rank peer = partner(r, t);
    const int half = ranks >> (t + 1);
    out.send(peer, {(*places)[peer] & ~(half - 1), half});
    out.recv_reduce(peer, {(*places)[r] & ~(half - 1), half});
  };
  const Schedule scatter("butterfly", {ranks, ranks, floor_log2(ranks)}, play);
  return {scatter, mirrored(scatter)};
}

// Every round, partners exchange and add everything they have.
Schedule butterfly_exchange(int ranks, const Partner& partner) {
  const auto play = [partner](Rank r, int t, Round& out) {
    out.send(partner(r, t), {0});
    out.recv_reduce(partner(r, t), {0});
  };
  return {"butterfly", {ranks, 1, floor_log2(ranks)}, play};
}

}  // namespace collbench

#include "algorithms/reduce_scatter.h"

namespace collbench {
namespace {

// a mod n for -n <= a < 2n: simulators ask for millions of rounds, and divisions would be most of
// it.
int modulo(int a, int n) { return a < 0 ? a + n : a < n ? a : a - n; }

// One step of a ring towards `step` (+1 or -1). In round t of a reduce-scatter a rank passes on the
// share of the rank 1 + t places behind it; in an all-gather, the share of the rank t places behind
// it. What it receives is what its neighbour behind passes on.
void ring_step(Rank r, int n, int step, int behind, OpKind receive, int pieces, int piece,
               Round& out) {
  const Rank previous = modulo(r - step, n);
  const int sent = modulo(r - step * behind, n);
  const int received = modulo(previous - step * behind, n);
  out.send(modulo(r + step, n), {sent * pieces + piece});
  out.push({receive, previous, {received * pieces + piece}});
}

// One ring, or two in opposite directions that share every chunk.
Phases rings(const char* name, int n, int directions) {
  const auto phase = [=](OpKind receive, int behind) {
    const auto play = [=](Rank r, int t, Round& out) {
      ring_step(r, n, 1, behind + t, receive, directions, 0, out);
      if (directions == 2) ring_step(r, n, -1, behind + t, receive, directions, 1, out);
    };
    return Schedule(name, {n, directions * n, n - 1}, play, {}, {0});
  };
  return {phase(OpKind::recv_reduce, 1), phase(OpKind::recv, 0)};
}

}  // namespace

Phases ring_phases(int ranks) { return rings("ring", ranks, 1); }

Phases bidirectional_phases(int ranks) { return rings("bidirectional ring", ranks, 2); }

}  // namespace collbench

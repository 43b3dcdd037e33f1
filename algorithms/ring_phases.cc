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

}  // namespace

Phases ring_phases(int ranks) {
  const int n = ranks;
  const auto scatter = [n](Rank r, int t, Round& out) {
    ring_step(r, n, 1, 1 + t, OpKind::recv_reduce, 1, 0, out);
  };
  const auto gather = [n](Rank r, int t, Round& out) {
    ring_step(r, n, 1, t, OpKind::recv, 1, 0, out);
  };
  return {{"ring", {n, n, n - 1}, scatter, {}, {0}}, {"ring", {n, n, n - 1}, gather, {}, {0}}};
}

Phases bidirectional_phases(int ranks) {
  const int n = ranks;
  const auto scatter = [n](Rank r, int t, Round& out) {
    ring_step(r, n, 1, 1 + t, OpKind::recv_reduce, 2, 0, out);
    ring_step(r, n, -1, 1 + t, OpKind::recv_reduce, 2, 1, out);
  };
  const auto gather = [n](Rank r, int t, Round& out) {
    ring_step(r, n, 1, t, OpKind::recv, 2, 0, out);
    ring_step(r, n, -1, t, OpKind::recv, 2, 1, out);
  };
  return {{"bidirectional ring", {n, 2 * n, n - 1}, scatter, {}, {0}},
          {"bidirectional ring", {n, 2 * n, n - 1}, gather, {}, {0}}};
}

}  // namespace collbench

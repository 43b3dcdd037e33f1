#include <vector>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"

namespace collbench {
namespace {

// The chunks first, first+1, ..., first+count-1 modulo n are one range, or two where they wrap.
void push_cyclic(OpKind kind, Rank peer, int first, int count, int n, Round& out) {
  first %= n;
  const int head = first + count <= n ? count : n - first;
  out.push({kind, peer, {first, head}});
  if (head < count) out.push({kind, peer, {0, count - head}});
}

}  // namespace

// Rank r holds partial sums for owners r, r+1, ..., r+s-1; s starts at n and halves, rounding up.
// With h = ceil(s/2), the partial sums for owners r+h .. r+s-1 go to rank r+h, for which they are
// the first s-h, and those for r .. r+s-h-1 come from rank r-h.
Phases circulant_phases(int ranks) {
  const int n = ranks;
  std::vector<int> sizes{n};
  while (sizes.back() > 1) sizes.push_back((sizes.back() + 1) / 2);
  const int rounds = static_cast<int>(sizes.size()) - 1;
  const auto play = [n, sizes](Rank r, int t, Round& out) {
    const int s = sizes[t];
    const int h = sizes[t + 1];
    push_cyclic(OpKind::send, (r + h) % n, r + h, s - h, n, out);
    push_cyclic(OpKind::recv_reduce, (r + n - h) % n, r, s - h, n, out);
  };
  const Schedule scatter("circulant", {n, n, rounds}, play);
  return {scatter, mirrored(scatter)};
}

Schedule circulant(int ranks) {
  const Phases phases = circulant_phases(ranks);
  return sequence("circulant", {phases.reduce_scatter, phases.all_gather});
}

}  // namespace collbench

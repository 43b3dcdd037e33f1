#include <vector>

#include "algorithms/combinators.h"
#include "algorithms/reduce_scatter.h"

namespace collbench {

// The sum for owner c gathers from both sides. The rank j places before c (1 <= j <= floor(n/2))
// and the one j places after it (1 <= j <= floor((n-1)/2)) pass their partial sums one place
// towards c in round floor(n/2) - j, so that both sides arrive in the last round.
Phases pincer_phases(int ranks) {
  const int n = ranks;
  const int before = n / 2;
  const int after = (n - 1) / 2;
  const auto play = [n, before, after](Rank r, int t, Round& out) {
    const int j = before - t;
    const Rank next = (r + 1) % n;
    const Rank previous = (r + n - 1) % n;
    out.send(next, {(r + j) % n});
    out.recv_reduce(previous, {(previous + j) % n});
    if (j > after) return;
    out.send(previous, {(r + n - j) % n});
    out.recv_reduce(next, {(next + n - j) % n});
  };
  // With even n the first round serves one side only.
  const std::vector<int> runs = before == after ? std::vector<int>{0} : std::vector<int>{0, 1};
  const Schedule scatter("pincer ring", {n, n, before}, play, {}, runs);
  return {scatter, mirrored(scatter)};
}

// As pincer_phases(), with the shard of the rank opposite on an even ring cut in halves that go
// either way, so that both directions carry the same.
Phases even_pincer_phases(int ranks) {
  if (ranks % 2 != 0 || ranks == 2) return pincer_phases(ranks);
  const int n = ranks;
  const auto play = [n](Rank r, int t, Round& out) {
    const int j = n / 2 - t;
    const Rank next = (r + 1) % n;
    const Rank previous = (r + n - 1) % n;
    const int pieces = t == 0 ? 1 : 2;
    const int second = t == 0 ? 1 : 0;
    out.send(next, {2 * ((r + j) % n), pieces});
    out.recv_reduce(previous, {2 * ((previous + j) % n), pieces});
    out.send(previous, {2 * ((r + n - j) % n) + second, pieces});
    out.recv_reduce(next, {2 * ((next + n - j) % n) + second, pieces});
  };
  const Schedule scatter("even pincer ring", {n, 2 * n, n / 2}, play, {}, {0, 1});
  return {scatter, mirrored(scatter)};
}

// On a line, the sum for owner c gathers from both ends. Rank k passes the partial sum for c > k to
// k+1 in round k + (n-1-c), farthest owner first; the mirror image serves owners c < k.
Phases line_phases(int ranks) {
  const int n = ranks;
  const auto play = [n](Rank r, int t, Round& out) {
    // The owner that rank k serves towards higher ranks in round t, if it is above k.
    const auto up = [n, t](Rank k) { return k + n - 1 - t; };
    const auto down = [n, t](Rank k) { return t - (n - 1 - k); };
    if (up(r) < n && up(r) > r) out.send(r + 1, {up(r)});
    if (down(r) >= 0 && down(r) < r) out.send(r - 1, {down(r)});
    if (r > 0 && up(r - 1) < n && up(r - 1) > r - 1) out.recv_reduce(r - 1, {up(r - 1)});
    if (r + 1 < n && down(r + 1) >= 0 && down(r + 1) < r + 1) {
      out.recv_reduce(r + 1, {down(r + 1)});
    }
  };
  const Schedule scatter("line", {n, n, n - 1}, play);
  return {scatter, mirrored(scatter)};
}

}  // namespace collbench

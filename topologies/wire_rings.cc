#include "topologies/wire_rings.h"

#include <algorithm>
#include <cmath>

namespace collbench {
namespace {

constexpr int most_ranks = 16;
constexpr int most_steps = 200'000;  // of the search: some tenths of a second

/// Depth-first search for rings that share no lane. Ways into hosts that few lead to are taken
/// first, and rings are found in the order of their second host, so that no set is tried twice.
class RingSearch {
 public:
  RingSearch(const Topology& topology, int ranks)
      : n_(ranks), lanes_(static_cast<std::size_t>(ranks) * ranks, 0) {
    for (const Link& link : topology.links()) {
      if (link.from < n_ && link.to < n_) {
        lanes(link.from, link.to) += static_cast<int>(std::lround(link.lanes));
      }
    }
    most_rings_ = most_ranks * most_ranks;
    for (Host host = 0; host < n_; ++host) {
      int out = 0;
      for (Host peer = 0; peer < n_; ++peer) out += lanes(host, peer);
      most_rings_ = std::min(most_rings_, out);
    }
  }

  std::vector<std::vector<Host>> found() {
    if (most_rings_ > 0) begin_ring(0);
    return best_;
  }

 private:
  int& lanes(Host from, Host to) { return lanes_[static_cast<std::size_t>(from * n_ + to)]; }

  /// Each returns whether the search is over.
  bool begin_ring(Host least_second) {
    std::vector<Host> ring{0};
    return extend(ring, least_second);
  }

  bool extend(std::vector<Host>& ring, Host least_second) {
    if (++steps_ > most_steps) return true;
    if (static_cast<int>(ring.size()) == n_) return close(ring);
    for (const Host next : ways_on(ring, least_second)) {
      int& taken = lanes(ring.back(), next);
      --taken;
      ring.push_back(next);
      if (extend(ring, least_second)) return true;
      ring.pop_back();
      ++taken;
    }
    return false;
  }

  bool close(const std::vector<Host>& ring) {
    int& last = lanes(ring.back(), 0);
    if (last == 0) return false;
    --last;
    rings_.push_back(ring);
    if (rings_.size() > best_.size()) best_ = rings_;
    const bool complete = static_cast<int>(best_.size()) == most_rings_;
    if (complete || begin_ring(ring[1])) return true;
    rings_.pop_back();
    ++last;
    return false;
  }

  std::vector<Host> ways_on(const std::vector<Host>& ring, Host least_second) {
    std::vector<Host> ways;
    for (Host next = 1; next < n_; ++next) {
      const bool is_new = std::find(ring.begin(), ring.end(), next) == ring.end();
      const bool in_order = ring.size() > 1 || next >= least_second;
      if (is_new && in_order && lanes(ring.back(), next) > 0) ways.push_back(next);
    }
    const auto ways_in = [this](Host to) {
      int count = 0;
      for (Host from = 0; from < n_; ++from) count += lanes(from, to) > 0 ? 1 : 0;
      return count;
    };
    const Host here = ring.back();
    const auto turn = [this, here](Host to) { return (to - here + n_) % n_; };
    std::sort(ways.begin(), ways.end(), [&](Host a, Host b) {
      return std::pair(ways_in(a), turn(a)) < std::pair(ways_in(b), turn(b));
    });
    return ways;
  }

  int n_;
  std::vector<int> lanes_;  // that no ring has taken, from one host to another
  int most_rings_ = 0;
  int steps_ = 0;
  std::vector<std::vector<Host>> rings_;
  std::vector<std::vector<Host>> best_;
};

}  // namespace

std::vector<std::vector<Host>> wire_rings(const Topology& topology, int ranks) {
  if (ranks < 3 || ranks > std::min(most_ranks, topology.hosts())) return {};
  return RingSearch(topology, ranks).found();
}

}  // namespace collbench

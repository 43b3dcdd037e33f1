// Nodes of one rank each joined by switches: MPI over InfiniBand, Slingshot or Ethernet.
//
//   t = start + copy n W + sum over rounds, count times
//         [ latency + rendezvous E(m) + far min(1.5, log2(p) / 5) + (k - 1) segment + X ]
//   X = m (byte + byte_large W) (1 + taper S(d)) + r (reduce + reduce_large W)
//   W = n^2 / (n^2 + 32 MB^2)      E = m^3 / (m^3 + 8 KiB^3)      S logistic in log2(d) about 64
//
// n bytes of the vector, m of a message or segment, r reduced, p nodes, d the distance in ranks, k
// segments. A round lasts as long as its slowest pair, and jobs are scattered over the groups of a
// machine, so that the more nodes there are the farther it is even to the next rank.
// W: a byte of a vector beyond the caches costs up to twice, whatever the size of its messages.
// Transfer and reduction of segments overlap: X is the larger of the two and 1/k of the other.
#include <algorithm>
#include <array>
#include <cmath>

#include "heuristics/structure/message_rounds.h"
#include "heuristics/structure/network_model.h"

namespace collbench {
namespace {

enum SwitchedConstant : std::size_t {
  s_start,
  s_latency,
  s_rendezvous,
  far_latency,
  byte_time,
  byte_large,
  reduce_time,
  reduce_large,
  segment_time,
  copy_time,
  taper
};

constexpr std::array<NetworkConstant, 11> switched_constants{{
    {"start", "us", 4, 1, "of a collective"},
    {"latency", "us", 2.5, 0.7, "of a round"},
    {"rendezvous", "us", 3.5, 0.7, "of a round of messages beyond about 8 KiB, in addition"},
    {"far", "us", 0.6, 0.8, "of a round over 32 nodes, in addition"},
    {"byte", "us/B", 1 / 8.3e3, 0.6,
     "of a message; only 2 byte + reduce and byte + reduce are known"},
    {"byte_large", "us/B", 4e-5, 0.7, "in addition where vectors exceed the caches"},
    {"reduce", "us/B", 5e-5, 0.8, "of a reduction; see byte"},
    {"reduce_large", "us/B", 5e-5, 0.7, "in addition where vectors exceed the caches"},
    {"segment", "us", 1.3, 0.6, "of each further segment of a message"},
    {"copy", "us/B", 3e-5, 1, "of vectors that exceed the caches, once"},
    {"taper", "1", 0.3, 0.8, "share by which bytes to partners beyond 64 ranks take longer"},
}};

constexpr double switched_cached = 32e6;
constexpr double switched_eager = 8192;
/// Of a block that is posted with others, relative to a segment that is waited for.
constexpr double posted_share = 1.0 / 7;

double round_time(const MessageRound& round, double large, double nodes,
                  std::span<const double> c) {
  const double doublings = std::log2(std::max(round.distance, 1.0));
  const double k = std::max(round.segments, 1.0);
  const double beyond = 1 / (1 + std::exp(6 - doublings));
  const double send =
      round.bytes * (c[byte_time] + c[byte_large] * large) * (1 + c[taper] * beyond);
  const double reduce = round.reduced * (c[reduce_time] + c[reduce_large] * large);
  const double both = std::max(send, reduce) + std::min(send, reduce) / k;
  const double per_segment = c[segment_time] * (round.posted ? posted_share : 1);
  return c[s_latency] + c[s_rendezvous] * saturation(round.bytes / k, switched_eager, 3) +
         c[far_latency] * std::min(1.5, std::log2(nodes) / 5) + (k - 1) * per_segment + both;
}

double switched_time(const PlayedMethod& played, const Scale& scale, double bytes,
                     std::span<const double> c) {
  const double large = saturation(bytes, switched_cached, 2);
  double time = c[s_start] + c[copy_time] * bytes * large;
  const PlayedMethod real = played_for(played, scale.ranks, bytes, 4);
  for (const MessageRound& round : message_rounds(real, scale.ranks, bytes)) {
    time += round.count * round_time(round, large, scale.ranks, c);
  }
  return time;
}

}  // namespace

NetworkModel switched_network() {
  return {Interconnect::switched,
          "switched",
          switched_constants,
          switched_time,
          0.2,
          1,
          {"start", "latency", "byte", "reduce"}};
}

}  // namespace collbench

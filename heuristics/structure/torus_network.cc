// A torus whose ports are driven one by one, with the names of Fugaku's collectives: Tofu-D.
//
// n bytes, p nodes, D axes of lengths d_i, S = sum (d_i - 1), L = sum of log2 d_i, P ports, each
// with a piece n/P of the vector. They take the tracks of a schedule in turn, then again the other
// way round, and the busiest link counts. How far a step goes, and what the links of its ring carry
// meanwhile, are read from the schedule.
//
//   halving    start + 2 L P port_round + bytes of the steps x load + reduction + memory
//   doubling   d_start + P d_port + L (d_round + P d_round_port), rendezvous from 8 KiB, + bytes
//   ring       P r_port + 2 S P r_step + bytes
//   trees      t_start + 2 S t_step + 2 L t_round + 2 S fill min(n, 64 KiB)
//              + 2 n (1 - 1/p) / min(q, D or 2 D) bytes
//
// MPI's own recursive doubling, ring, reduce-and-broadcast and linear go through the host: o_*.
#include <algorithm>
#include <array>
#include <cmath>

#include "heuristics/structure/message_rounds.h"
#include "heuristics/structure/network_model.h"

namespace collbench {
namespace {

enum TorusConstant : std::size_t {
  link_byte,
  hop,
  reduce_byte,
  memory_byte,
  uncut_byte,
  segment_put,
  b_start,
  b_port_round,
  d_start,
  d_port,
  d_round,
  d_round_port,
  d_rendezvous,
  d_rendezvous_port,
  r_port,
  r_step,
  t_start,
  t_step,
  t_round,
  t_fill,
  o_start,
  o_round,
  o_rendezvous,
  o_byte,
  o_tree_round,
  o_tree_byte,
};

constexpr std::array<NetworkConstant, 26> torus_constants{{
    {"link", "us/B", 1.44e-4, 0.15, "of a port; Tofu-D: 6.8 GB/s", 1 / 6.8e3},
    {"hop", "us", 0.12, 0.7, "of a node on the way"},
    {"reduce", "us/B", 3e-5, 0.4, "of a reduction by one thread"},
    {"memory", "us/B", 3.5e-5, 0.4, "of a reduction of vectors beyond 8 MB, in addition"},
    {"memory_uncut", "us/B", 1.9e-5, 0.6, "of such vectors, once, where pieces are not cut"},
    {"segment", "us", 0.29, 0.4, "of each further segment"},
    {"halving_start", "us", 3.8, 0.7, "of a collective by halves"},
    {"halving_round", "us", 9, 0.2, "of a round and port of it"},
    {"doubling_start", "us", 1.5, 0.7, "of a collective by doubling"},
    {"doubling_port", "us", 2.6, 0.4, "of each port of it"},
    {"doubling_round", "us", 2.1, 0.4, "of a round of it"},
    {"doubling_round_port", "us", 0.3, 0.6, "of a round and port of it"},
    {"doubling_rendezvous", "us", 10, 0.4, "of a round beyond 8 KiB, in addition"},
    {"doubling_rendezvous_port", "us", 1.4, 0.6, "of a round and port beyond 8 KiB, in addition"},
    {"ring_port", "us", 15, 0.5, "of each port of rings along the axes"},
    {"ring_step", "us", 2, 0.5, "of a step and port of them"},
    {"tree_start", "us", 4.7, 0.7, "of pipelined trees"},
    {"tree_step", "us", 1.2, 0.3, "of a node on the longest way of them"},
    {"tree_round", "us", 3.9, 0.3, "of them for each doubling of the nodes, there and back"},
    {"tree_fill", "us/B", 1.2e-4, 0.3, "of the first 64 KiB on each node of the way"},
    {"host_start", "us", 1.5, 0.7, "of MPI's own collectives"},
    {"host_round", "us", 2.4, 0.4, "of a message of theirs"},
    {"host_rendezvous", "us", 4.3, 0.5, "of a message beyond 8 KiB, in addition"},
    {"host_byte", "us/B", 2.2e-4, 0.3, "of a message of theirs, with its reduction"},
    {"host_tree_round", "us", 6.2, 0.4, "of a doubling of the nodes, reduce and broadcast"},
    {"host_tree_byte", "us/B", 9e-4, 0.4, "of reduce and broadcast of long vectors"},
}};

constexpr double torus_eager = 8192;
constexpr double torus_cached = 8e6;
constexpr double most_fill = 64 << 10;
/// Of the load of links that doubling feels: its logical axes are folded onto six real ones.
constexpr double folded_power = 0.75;
constexpr double port_hops = 0.05;

struct TorusShape {
  explicit TorusShape(const Scale& scale) : axes(torus_axes(scale)) {
    for (const int length : axes) {
      steps += length - 1;
      rounds += static_cast<int>(std::ceil(std::log2(length) - 1e-9));
      nodes *= length;
    }
  }
  int dims() const { return static_cast<int>(axes.size()); }

  std::vector<int> axes;
  int steps = 0;
  int rounds = 0;
  double nodes = 1;
};

/// Of a port's piece, what the busiest link carries one after the other: all that a port sends, or
/// all that the ports send which go the same way along an axis. Ports take the tracks in turn, then
/// again the other way round, which on an axis of two nodes is the same link; where axes differ in
/// length the tracks crowd on the longer ones.
double busiest_share(const PlayedMethod& played, const TorusShape& shape, double power) {
  const std::vector<AxisTrack>& tracks = *axis_tracks(played, shape.axes);
  std::vector<double> links(2 * shape.axes.size(), 0.0);
  double most = 0;
  for (std::size_t port = 0; port < static_cast<std::size_t>(played.ports); ++port) {
    const std::size_t way = port / tracks.size() % 2;
    double alone = 0;
    for (const AxisRound& round : tracks[port % tracks.size()]) {
      const double share = round.count * round.share * std::pow(round.load, power);
      alone += share;
      links[2 * round.axis + (shape.axes[round.axis] > 2 ? way : 0)] += share;
    }
    most = std::max(most, alone);
  }
  return std::max(most, *std::ranges::max_element(links));
}

/// Sums of vectors beyond the caches are bound by memory, which further threads do not widen.
double memory_time(const PlayedMethod& played, double reduced, double bytes,
                   std::span<const double> c) {
  const double uncut = played.segment > 0 ? 0 : c[uncut_byte];
  return saturation(bytes, torus_cached, 2) * (c[memory_byte] * reduced + uncut * bytes);
}

double threads(const PlayedMethod& played) { return std::min(played.ports, 4); }

double further_segments(double bytes, double segment) {
  return segment > 0 ? std::max(0.0, std::ceil(bytes / segment) - 1) : 0;
}

/// What the rounds of the slowest of the tracks in use take beside their bytes.
template <class RoundTime>
double slowest_track(const PlayedMethod& played, const TorusShape& shape, RoundTime round_time) {
  const std::vector<AxisTrack>& tracks = *axis_tracks(played, shape.axes);
  double slowest = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(tracks.size(), played.ports); ++i) {
    double time = 0;
    for (const AxisRound& round : tracks[i]) time += round.count * round_time(round);
    slowest = std::max(slowest, time);
  }
  return slowest;
}

double halving_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                    std::span<const double> c) {
  const double piece = bytes / played.ports;
  const double ways = slowest_track(played, shape, [&](const AxisRound& round) {
    const double segments = further_segments(round.share * piece, played.segment);
    return c[hop] * round.distance + c[segment_put] * segments * played.ports;
  });
  return c[b_start] + 2.0 * shape.rounds * played.ports * c[b_port_round] + ways +
         piece * busiest_share(played, shape, 1) * c[link_byte] +
         bytes * (1 - 1 / shape.nodes) * c[reduce_byte] / threads(played);
}

double doubling_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                     std::span<const double> c) {
  const double piece = bytes / played.ports;
  const double beyond = saturation(piece, torus_eager, 3);
  const double rounds = shape.rounds;
  const double ways = slowest_track(played, shape, [&](const AxisRound& round) {
    return c[hop] * round.distance * (1 + port_hops * (played.ports - 1)) +
           c[segment_put] * further_segments(piece, played.segment) * played.ports;
  });
  return c[d_start] + c[d_port] * played.ports +
         rounds * (c[d_round] + c[d_round_port] * played.ports +
                   beyond * (c[d_rendezvous] + c[d_rendezvous_port] * played.ports)) +
         ways + piece * busiest_share(played, shape, folded_power) * c[link_byte] +
         rounds * bytes * c[reduce_byte] / threads(played);
}

/// A port's piece goes through the rings of all axes, one way round.
double port_ring_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                      std::span<const double> c) {
  const double steps = slowest_track(played, shape, [](const AxisRound&) { return 1.0; });
  return played.ports * (c[r_port] + steps * c[r_step]) +
         bytes / played.ports * busiest_share(played, shape, 1) * c[link_byte] +
         bytes * (1 - 1 / shape.nodes) * c[reduce_byte] / threads(played);
}

double host_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                 std::span<const double> c) {
  const auto nodes = static_cast<int>(shape.nodes);
  const PlayedMethod real = played_for(played, nodes, bytes, 4);
  if (real.form == PlayedForm::tree) {
    return c[o_start] +
           shape.rounds * (c[o_tree_round] + c[o_rendezvous] * saturation(bytes, torus_eager, 3)) +
           c[o_tree_byte] * bytes;
  }
  double time = c[o_start];
  for (const MessageRound& round : message_rounds(real, nodes, bytes)) {
    time += round.count * (c[o_round] + c[o_rendezvous] * saturation(round.bytes, torus_eager, 3) +
                           c[o_byte] * round.bytes);
  }
  return time;
}

double axis_trees_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                       std::span<const double> c) {
  if (played.falls_back) {
    PlayedMethod other = played;
    other.form = PlayedForm::doubling;
    const double doubling = host_time(other, shape, bytes, c);
    other.form = PlayedForm::ring;
    return std::min(doubling, host_time(other, shape, bytes, c));
  }
  const double directions =
      std::min(played.ports, played.ports > 3 ? 2 * shape.dims() : shape.dims());
  return c[t_start] + 2.0 * shape.steps * c[t_step] + 2.0 * shape.rounds * c[t_round] +
         2.0 * shape.steps * c[t_fill] * std::min(bytes, most_fill) +
         2 * bytes * (1 - 1 / shape.nodes) / directions * c[link_byte] +
         bytes * c[reduce_byte] / threads(played) + memory_time(played, bytes, bytes, c);
}

double torus_time(const PlayedMethod& played, const Scale& scale, double bytes,
                  std::span<const double> c) {
  const TorusShape shape(scale);
  switch (played.form) {
    case PlayedForm::port_halving:
      return halving_time(played, shape, bytes, c) + memory_time(played, bytes, bytes, c);
    case PlayedForm::port_doubling:
      return doubling_time(played, shape, bytes, c) +
             memory_time(played, shape.rounds * bytes, bytes, c);
    case PlayedForm::port_ring:
      return port_ring_time(played, shape, bytes, c) + memory_time(played, bytes, bytes, c);
    case PlayedForm::axis_trees:
      return axis_trees_time(played, shape, bytes, c);
    default:
      return host_time(played, shape, bytes, c);
  }
}

}  // namespace

NetworkModel torus_network() {
  return {Interconnect::torus,
          "torus",
          torus_constants,
          torus_time,
          0.07,
          1.5,
          {"doubling_start", "doubling_round", "link", "reduce"}};
}

}  // namespace collbench

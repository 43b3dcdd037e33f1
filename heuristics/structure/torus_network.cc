// A torus whose ports are driven one by one, with the names of Fugaku's collectives: Tofu-D.
//
// n bytes, p nodes, D axes of lengths d_i, S = sum (d_i - 1), L = sum of log2 d_i, P ports, each
// with a piece n/P of the vector. The pieces on one link at a time are ceil(P / 2D). What the
// busiest link of a ring of d carries in a step between partners at distance 2^e, in messages: 2^e,
// half of that at d/2 where both ways are as long, and of Bine's distances half, because even and
// odd ranks go opposite ways.
//
//   halving    start + 2 L P port_round + bytes of the steps x load + reduction + memory
//   doubling   d_start + P d_port + L (d_round + P d_round_port), rendezvous from 8 KiB, + bytes
//   ring       P r_port + 2 S P r_step + bytes
//   trees      t_start + 2 S t_step + 2 L t_round + 2 S fill min(n, 64 KiB)
//              + 2 n (1 - 1/p) / min(q, D or 2 D) bytes
//
// MPI's own recursive doubling, ring, reduce-and-broadcast and linear go through the host: h_*.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

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
  h_start,
  h_round,
  h_rendezvous,
  h_byte,
  h_tree_round,
  h_tree_byte,
};

constexpr std::array<NetworkConstant, 26> torus_constants{{
    {"link", "us/B", 1.44e-4, 0.15, "of a port; Tofu-D: 6.8 GB/s"},
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

double share_beyond(double x, double at, int power) {
  const double scaled = std::pow(x / at, power);
  return scaled / (1 + scaled);
}

struct TorusShape {
  explicit TorusShape(const Scale& scale) : axes(torus_axes(scale)) {
    for (const int length : axes) {
      steps += length - 1;
      exponents.push_back(static_cast<int>(std::ceil(std::log2(length) - 1e-9)));
      rounds += exponents.back();
      nodes *= length;
    }
  }
  int dims() const { return static_cast<int>(axes.size()); }

  std::vector<int> axes;
  std::vector<int> exponents;  // rounds along each axis
  int steps = 0;
  int rounds = 0;
  double nodes = 1;
};

/// A step along an axis: how far, and what the busiest link carries.
struct AxisStep {
  double distance;
  double load;
};

AxisStep axis_step(int length, int exponent, bool bine) {
  const double power = std::exp2(exponent);
  if (bine) {
    const double distance = std::round((2 * power + (exponent % 2 == 0 ? 1 : -1)) / 3);
    return {distance, std::max(1.0, std::ceil(distance / 2))};
  }
  const bool both_ways = 2 * power >= length;
  return {power, std::max(1.0, both_ways ? power / 2 : power)};
}

/// The steps of the piece whose first axis is `first`: axes take turns, each with its own exponent.
std::vector<AxisStep> steps_of(const TorusShape& shape, int first, bool bine) {
  std::vector<AxisStep> steps;
  std::vector<int> taken(shape.axes.size(), 0);
  for (int turn = first; static_cast<int>(steps.size()) < shape.rounds; ++turn) {
    const auto axis = static_cast<std::size_t>(turn % shape.dims());
    if (taken[axis] == shape.exponents[axis]) continue;
    steps.push_back(axis_step(shape.axes[axis], taken[axis]++, bine));
  }
  return steps;
}

double pieces_on_a_link(const PlayedMethod& played, const TorusShape& shape) {
  return std::ceil(played.ports / (2.0 * shape.dims()));
}

/// Sums of vectors beyond the caches are bound by memory, which further threads do not widen.
double memory_time(const PlayedMethod& played, double reduced, double bytes,
                   std::span<const double> c) {
  const double uncut = played.segment > 0 ? 0 : c[uncut_byte];
  return share_beyond(bytes, torus_cached, 2) * (c[memory_byte] * reduced + uncut * bytes);
}

double threads(const PlayedMethod& played) { return std::min(played.ports, 4); }

double further_segments(double bytes, double segment) {
  return segment > 0 ? std::max(0.0, std::ceil(bytes / segment) - 1) : 0;
}

double halving_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                    std::span<const double> c) {
  const double piece = bytes / played.ports;
  double slowest = 0;
  for (int first = 0; first < std::min(played.ports, shape.dims()); ++first) {
    double time = 0;
    double message = piece;
    for (const AxisStep& step : steps_of(shape, first, played.bine)) {
      message /= 2;
      const double segments = further_segments(message, played.segment);
      time += 2 * (message * c[link_byte] * step.load * pieces_on_a_link(played, shape) +
                   c[hop] * step.distance + c[segment_put] * segments * played.ports);
    }
    slowest = std::max(slowest, time);
  }
  return c[b_start] + 2.0 * shape.rounds * played.ports * c[b_port_round] + slowest +
         bytes * (1 - 1 / shape.nodes) * c[reduce_byte] / threads(played);
}

double doubling_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                     std::span<const double> c) {
  const double piece = bytes / played.ports;
  const double beyond = share_beyond(piece, torus_eager, 3);
  const double rounds = shape.rounds;
  double slowest = 0;
  for (int first = 0; first < std::min(played.ports, shape.dims()); ++first) {
    double time = 0;
    for (const AxisStep& step : steps_of(shape, first, played.bine)) {
      time += piece * c[link_byte] * std::pow(step.load, folded_power) *
                  pieces_on_a_link(played, shape) +
              c[hop] * step.distance * (1 + port_hops * (played.ports - 1)) +
              c[segment_put] * further_segments(piece, played.segment) * played.ports;
    }
    slowest = std::max(slowest, time);
  }
  return c[d_start] + c[d_port] * played.ports +
         rounds * (c[d_round] + c[d_round_port] * played.ports +
                   beyond * (c[d_rendezvous] + c[d_rendezvous_port] * played.ports)) +
         slowest + rounds * bytes * c[reduce_byte] / threads(played);
}

double port_ring_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                      std::span<const double> c) {
  const double sent = 2 * bytes / played.ports * (1 - 1 / shape.nodes);
  return played.ports * (c[r_port] + 2.0 * shape.steps * c[r_step]) +
         sent * c[link_byte] * pieces_on_a_link(played, shape) +
         bytes * (1 - 1 / shape.nodes) * c[reduce_byte] / threads(played);
}

double host_time(const PlayedMethod& played, const TorusShape& shape, double bytes,
                 std::span<const double> c) {
  const PlayedMethod real = played_for(played, static_cast<int>(shape.nodes), bytes, 4);
  double messages = shape.rounds;
  double size = bytes;
  if (real.form == PlayedForm::tree) {
    return c[h_start] +
           shape.rounds *
               (c[h_tree_round] + c[h_rendezvous] * share_beyond(bytes, torus_eager, 3)) +
           c[h_tree_byte] * bytes;
  }
  if (real.form == PlayedForm::ring) {
    messages = 2 * (shape.nodes - 1);
    size = bytes / shape.nodes;
  } else if (real.form == PlayedForm::linear) {
    messages = shape.nodes - 1;
  }
  return c[h_start] +
         messages *
             (c[h_round] + c[h_rendezvous] * share_beyond(size, torus_eager, 3) + c[h_byte] * size);
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
          0.1,
          1.5,
          {"doubling_start", "doubling_round", "link", "reduce"}};
}

}  // namespace collbench

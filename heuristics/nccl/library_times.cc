#include "heuristics/nccl/library_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "heuristics/measurement.h"
#include "heuristics/nccl/library_rules.h"

namespace collbench {
namespace {

constexpr double hop_growth = 0.04;           // a doubling of the nodes beyond two
constexpr double rate_exponent = -0.03;       // of half the nodes: large networks reach less
constexpr double short_step = 128.0 * 1024;   // bytes of one step of a ring's channel
constexpr double launch_us = 5.8;             // of one GPU more by the same process
constexpr double blend_from = 1024.0 * 1024;  // bytes
constexpr double blend_doublings = 6;         // until NCCL's cost counts half
constexpr double most_blend = 0.5;

constexpr std::size_t column_of(NcclProtocol p) { return static_cast<std::size_t>(p); }

/// Of two terms that overlap by q: their sum for 1, the larger for infinity.
double overlapped(double latency, double flow, double q) {
  return std::pow(std::pow(latency, q) + std::pow(flow, q), 1 / q);
}

class Clock {
 public:
  Clock(const NcclInputs& inputs, const LibraryConstants& constants, double bytes)
      : in_(inputs),
        c_(constants),
        bytes_(bytes),
        ranks_(inputs.ranks),
        per_node_(static_cast<double>(inputs.ranks) / inputs.nodes),
        doublings_(std::log2(inputs.nodes)) {}

  double microseconds(const NcclTime& play) const {
    const NcclProtocol p = play.protocol;
    const double start = c_.start_us[column_of(p)] * in_.hardware.gpu.start_factor;
    switch (play.algorithm) {
      case NcclAlgorithm::ring:
        return start + overlapped(ring_latency(p), ring_flow(play), ring_overlap(p));
      case NcclAlgorithm::tree:
        return start + overlapped(tree_latency(p), tree_flow(p), c_.overlap_of_tree[column_of(p)]);
      case NcclAlgorithm::nvls:
      case NcclAlgorithm::nvls_tree:
        return start + nvls_latency(play.algorithm) + filled(nvls_flow(play.algorithm));
      case NcclAlgorithm::all_pairs:
        return start + 2 * c_.pairs_us[column_of(p)] + pairs_flow(p);
      default:
        return start +
               overlapped(collnet_latency(), collnet_flow(), c_.overlap_of_tree[column_of(p)]);
    }
  }

 private:
  double step(NcclProtocol p) const {
    const double of_library = is_rccl(in_) ? c_.rccl_step[column_of(p)] : 1;
    return c_.step_us[column_of(p)] * of_library * in_.hardware.gpu.step_factor;
  }

  double hop(NcclProtocol p) const {
    const AdapterNetwork& network = in_.hardware.network;
    const Seconds near = p == NcclProtocol::simple ? network.hop_simple
                         : p == NcclProtocol::ll   ? network.hop_ll
                                                   : network.hop_ll * c_.hop_ll128_of_ll;
    return near.count() * 1e6 * (1 + hop_growth * std::max(doublings_ - 1, 0.0));
  }

  /// Bytes per microsecond of a node's adapters, one way; nothing limits a single node there.
  double net(NcclProtocol p) const {
    if (in_.nodes == 1) return std::numeric_limits<double>::infinity();
    const NcclHardware& has = in_.hardware;
    const double known = has.of_node > 0 ? has.of_node : in_.ring.channels * in_.ring.inter;
    double share = c_.reached_share[column_of(p)];
    if (p == NcclProtocol::ll) share = std::min(share, has.network.ll_share);
    if (p == NcclProtocol::ll128) share = std::min(share, has.network.ll128_share);
    return 1e3 * known * share * std::pow(std::max(in_.nodes / 2.0, 1.0), rate_exponent);
  }

  /// Of one GPU to the others of its node.
  double gpu(NcclProtocol p) const {
    if (in_.ranks == in_.nodes) return std::numeric_limits<double>::infinity();
    const NcclHardware& has = in_.hardware;
    const double known = has.of_gpu > 0 ? has.of_gpu : in_.ring.channels * in_.ring.intra;
    return 1e3 * known * c_.reached_share[column_of(p)];
  }

  double ring_latency(NcclProtocol p) const {
    const double far = 2.0 * (in_.nodes - 1);
    return (2 * (ranks_ - 1) - far) * step(p) + c_.ring_hop_share * far * hop(p);
  }

  double ring_overlap(NcclProtocol p) const {
    const bool inside = in_.nodes == 1 && p == NcclProtocol::ll128;
    return c_.overlap_of_ring[column_of(p)] * (inside ? in_.hardware.gpu.ll128_overlap_factor : 1);
  }

  /// Of the channels in use; nothing limits where it is not known how many there are.
  double channels(const NcclTime& play) const {
    const double each = c_.channel_rate[column_of(play.protocol)] * in_.hardware.gpu.channel_factor;
    return each > 0 ? 1e3 * each * play.channels : std::numeric_limits<double>::infinity();
  }

  double ring_flow(const NcclTime& play) const {
    double network = net(play.protocol);
    const double of_step = bytes_ / (ranks_ * 2 * in_.ring.channels);
    if (play.protocol == NcclProtocol::simple && of_step <= short_step) {
      network *= in_.hardware.network.short_ring_share;
    }
    return bytes_ * 2 * (ranks_ - 1) / ranks_ /
           std::min({network, gpu(play.protocol), channels(play)});
  }

  double tree_latency(NcclProtocol p) const {
    return 2 * ((per_node_ - 1) * step(p) + doublings_ * hop(p));
  }

  /// Beyond two nodes a node has children and a parent, so that its adapters carry twice as much.
  double net_of_trees(NcclProtocol p) const { return net(p) / (in_.nodes > 2 ? 2 : 1); }

  double tree_flow(NcclProtocol p) const { return bytes_ / std::min(net_of_trees(p), gpu(p) / 2); }

  double nvls_latency(NcclAlgorithm a) const {
    const double inside = c_.nvls_us * in_.hardware.gpu.start_factor;
    const double ways = a == NcclAlgorithm::nvls_tree ? 2 * doublings_ : in_.nodes > 1 ? 1 : 0;
    return inside + ways * hop(NcclProtocol::simple);
  }

  double nvls_flow(NcclAlgorithm a) const {
    constexpr double of_links = 0.59;  // switches that add reach so much of the links' nominal rate
    const NcclHardware& has = in_.hardware;
    const double inside =
        has.nvls > 0 ? has.nvls : of_links / has.gpu.efficiency * gpu(NcclProtocol::simple) / 1e3;
    const double outside = a == NcclAlgorithm::nvls_tree ? net_of_trees(NcclProtocol::simple)
                                                         : net(NcclProtocol::simple);
    // Both are at work at once and share the GPUs' copies.
    const double share = in_.nodes > 1 ? c_.nvls_far_share : 1;
    return overlapped(bytes_ / (1e3 * inside * share), bytes_ / outside, c_.overlap_of_nvls);
  }

  /// With the first piece, which is alone in the pipeline.
  double filled(double flow) const {
    const double most = in_.hardware.gpu.nvls_fill.count() * 1e6 * (1 + doublings_);
    return flow + flow * most / (flow + most);
  }

  /// Each GPU has a link to every other, which carries an n-th of the vector in both phases.
  double pairs_flow(NcclProtocol p) const {
    const double reached = gpu(p) * (p == NcclProtocol::simple ? c_.pairs_share : 1);
    return 2 * bytes_ * (ranks_ - 1) / ranks_ / reached;
  }

  /// Up a chain or a star of the node's GPUs, once through the switches of the network, and down.
  double collnet_latency() const {
    return 2 * (per_node_ - 1) * step(NcclProtocol::simple) + hop(NcclProtocol::simple);
  }
  double collnet_flow() const {
    return bytes_ / std::min(net(NcclProtocol::simple), gpu(NcclProtocol::simple) / 2);
  }

  const NcclInputs& in_;
  const LibraryConstants& c_;
  double bytes_;
  double ranks_;
  double per_node_;
  double doublings_;
};

/// The tuner's cost without the latency that a plugin states, which no step takes.
double cost_us(const NcclInputs& inputs, const LibraryQuestion& question, const NcclTime& play) {
  NcclTime same = play;
  if (const double stated = stated_latency_us(inputs); stated > 0 && inputs.nodes > 1) {
    NcclInputs unstated = inputs;
    for (NcclGraph* graph :
         {&unstated.ring, &unstated.tree, &unstated.collnet_chain, &unstated.collnet_direct}) {
      graph->latency_inter = std::max(0.0, graph->latency_inter - stated);
    }
    for (const NcclTime& each :
         nccl_times(unstated, question.bytes, question.what, question.in_place)) {
      if (each.algorithm == play.algorithm && each.protocol == play.protocol) same = each;
    }
  }
  return same.latency_us + static_cast<double>(question.bytes.count) / (1000 * same.bandwidth);
}

/// With the tuner's cost, where it has one that says more than the model.
double blended(double modelled, const NcclInputs& inputs, const LibraryQuestion& question,
               const NcclTime& play) {
  if (play.bandwidth <= 0 || is_nvls(play.algorithm)) return modelled;
  const double bytes = std::max(1.0, static_cast<double>(question.bytes.count));
  if (bytes <= blend_from) return modelled;
  const double cost = cost_us(inputs, question, play);
  const double share =
      most_blend * std::clamp(std::log2(bytes / blend_from) / blend_doublings, 0.0, 1.0);
  return std::pow(modelled, 1 - share) * std::pow(cost, share);
}

/// Starting GPUs one after the other and what they do overlap but for the larger of the two.
double with_launches(double microseconds, int gpus_per_process) {
  if (gpus_per_process <= 1) return microseconds;
  return std::pow(std::pow(microseconds, 4) + std::pow(launch_us * gpus_per_process, 4), 0.25);
}

/// Of ln(time), for the ranges of size_bands. The first holds 80 % of the points of systems that
/// were left out of the fit and whose GPUs and networks others have, each system with the same
/// weight. Of those that are alone there are too few for that: the second holds 86, 60, 80 and 92 %
/// of their points.
constexpr std::array<double, 4> interval_fitted{0.23, 0.26, 0.26, 0.11};
constexpr std::array<double, 4> interval_assumed{0.55, 0.5, 0.45, 0.2};

double interval_of(const NcclInputs& inputs, Bytes bytes) {
  const NcclHardware& has = inputs.hardware;
  const bool fitted = has.gpu.fitted && (inputs.nodes == 1 || has.network.fitted);
  return (fitted ? interval_fitted : interval_assumed)[band_of(bytes)];
}

}  // namespace

std::string to_string(const LibraryPlay& play) {
  return fmt::format("{}, {}", policy_name(play.tuner.algorithm), policy_name(play.tuner.protocol));
}

double library_us(const NcclInputs& inputs, const LibraryQuestion& question, const NcclTime& play,
                  const LibraryConstants& constants) {
  const double bytes = std::max(1.0, static_cast<double>(question.bytes.count));
  const double modelled = Clock(inputs, constants, bytes).microseconds(play);
  return with_launches(blended(modelled, inputs, question, play), question.gpus_per_process);
}

std::vector<LibraryPlay> library_plays(const NcclInputs& inputs, const LibraryQuestion& question) {
  require(question.gpus_per_process >= 1,
          fmt::format("a process drives at least 1 GPU, not {}", question.gpus_per_process));
  const double off = std::exp(interval_of(inputs, question.bytes));
  std::vector<LibraryPlay> plays;
  for (const NcclTime& tuner :
       nccl_times(inputs, question.bytes, question.what, question.in_place)) {
    if (question.algorithm && tuner.algorithm != *question.algorithm) continue;
    if (question.protocol && tuner.protocol != *question.protocol) continue;
    const Seconds taken{library_us(inputs, question, tuner) * 1e-6};
    plays.push_back({tuner, taken, taken / off, taken * off});
  }
  return plays;
}

LibraryPlay library_choice(const NcclInputs& inputs, const LibraryQuestion& question) {
  const std::vector<LibraryPlay> plays = library_plays(inputs, question);
  if (plays.empty()) {
    std::vector<std::string> offered;
    const LibraryQuestion any{
        .bytes = question.bytes, .what = question.what, .in_place = question.in_place};
    for (const LibraryPlay& play : library_plays(inputs, any)) {
      offered.push_back(to_string(play));
    }
    throw InvalidArgument(fmt::format("NCCL has no '{}{}{}' there; it has {}",
                                      question.algorithm ? to_string(*question.algorithm) : "",
                                      question.algorithm && question.protocol ? ", " : "",
                                      question.protocol ? policy_name(*question.protocol) : "",
                                      fmt::join(offered, "; ")));
  }
  return *std::min_element(plays.begin(), plays.end(), [](const auto& a, const auto& b) {
    return a.tuner.time < b.tuner.time;
  });
}

}  // namespace collbench

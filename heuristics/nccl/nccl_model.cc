#include "heuristics/nccl/nccl_model.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/nccl/library_rules.h"
#include "heuristics/nccl/nccl_constants.h"
#include "heuristics/nccl/nccl_names.h"

namespace collbench {
namespace {

/// What policies call the algorithms and protocols, in the order of the enumerations.
constexpr std::array<std::string_view, 8> algorithm_names{
    "double-tree", "ring",      "collnet-direct", "collnet-chain",
    "nvls",        "nvls-tree", "nccl:pat",       "all-pairs"};
constexpr std::array<std::string_view, 3> protocol_names{"LL", "LL128", "Simple"};

constexpr std::size_t index(NcclAlgorithm a) { return static_cast<std::size_t>(a); }
constexpr std::size_t index(NcclProtocol p) { return static_cast<std::size_t>(p); }

template <typename Enum, std::size_t size>
std::optional<Enum> named(std::string_view name, const std::array<std::string_view, size>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<Enum>(found - names.begin());
}

bool is_collnet(NcclAlgorithm a) {
  return a == NcclAlgorithm::collnet_direct || a == NcclAlgorithm::collnet_chain;
}

/// Of a communicator: twice those of the graphs, and on several nodes of Hopper and later, where
/// fewer than 8 graphs carry much each, twice as many again.
/// Source: NVIDIA NCCL 2.28.9, src/graph/connect.cc, ncclTopoPostset().
int communicator_channels(const NcclInputs& inputs) {
  const NcclGraph& ring = inputs.ring;
  const int found =
      inputs.tree.channels > 0 ? std::min(ring.channels, inputs.tree.channels) : ring.channels;
  const bool again =
      inputs.compute_capability >= 90 && inputs.nodes > 1 && ring.intra > 45 && found < 8;
  return (again ? 4 : 2) * found;
}

class Tuner {
 public:
  Tuner(const NcclInputs& inputs, TypedOp what)
      : in_(inputs),
        has_nvls_(nvls_adds(what)),
        has_collnet_(inputs.collnet && sharp_adds(what)),
        per_node_(inputs.ranks / inputs.nodes),
        chip_(inputs.compute_capability >= 100  ? 3
              : inputs.compute_capability >= 90 ? 2
              : inputs.compute_capability >= 80 ? 1
                                                : 0),
        column_(inputs.nodes <= 2 ? static_cast<std::size_t>(inputs.nodes - 1) : 2),
        channels_(communicator_channels(inputs)) {}

  std::optional<NcclTime> time(NcclAlgorithm a, NcclProtocol p, double bytes) const {
    if (!is_enabled(a, p)) return {};
    NcclTime found{a, p};
    found.bandwidth = bandwidth(a, p);
    if (found.bandwidth <= 0) return {};
    found.latency_us = latency(a, p);
    if (a == NcclAlgorithm::tree) found.bandwidth *= tree_correction(p, bytes);
    // What NCCL calls the "plateau effect of ring".
    if (a == NcclAlgorithm::ring && p == NcclProtocol::simple && in_.nodes > 1 &&
        bytes / (channels_ * in_.ranks) >= 64) {
      found.latency_us *= in_.compute_capability < 80 ? 1.9 : 1.4;
    }
    found.time = Seconds{(found.latency_us + bytes / (1000 * found.bandwidth)) * 1e-6};
    set_blocks(bytes, found);
    return found;
  }

 private:
  const NcclGraph& graph(NcclAlgorithm a) const {
    switch (a) {
      case NcclAlgorithm::tree:
        return in_.tree;
      case NcclAlgorithm::collnet_direct:
        return in_.collnet_direct;
      case NcclAlgorithm::collnet_chain:
        return in_.collnet_chain;
      case NcclAlgorithm::nvls:
      case NcclAlgorithm::nvls_tree:
        return in_.nvls;
      default:
        return in_.ring;
    }
  }

  bool is_enabled(NcclAlgorithm a, NcclProtocol p) const {
    const NcclGraph& g = graph(a);
    if (a == NcclAlgorithm::pat || g.channels < 1) return false;
    if ((is_collnet(a) || is_nvls(a)) && p != NcclProtocol::simple) return false;
    if (is_nvls(a) && !has_nvls_) return false;
    if (is_collnet(a) && (!has_collnet_ || in_.nodes == 1 || per_node_ > 8)) return false;
    if (a == NcclAlgorithm::collnet_direct && !in_.nvswitch) return false;
    if (a == NcclAlgorithm::nvls_tree && in_.nodes == 1) return false;
    if (a == NcclAlgorithm::nvls && in_.nodes > 1 && !has_collnet_) return false;
    if (is_nvls(a) && g.channels < 2) return false;
    if (p != NcclProtocol::ll128) return true;
    const NcclPath farthest = in_.compute_capability >= 90 ? NcclPath::pxn : NcclPath::pxb;
    return in_.ll128 && in_.compute_capability >= 70 && g.type_intra <= NcclPath::nvb &&
           g.type_inter <= farthest;
  }

  double nvls_bandwidth(NcclAlgorithm a) const {
    const NcclGraph& g = in_.nvls;
    const double share = static_cast<double>(g.channels - 1) / g.channels;
    const double intra = g.intra * nccl_constants.nvls_efficiency[chip_] * share * 2;
    const bool tree = a == NcclAlgorithm::nvls_tree;
    const double inter = g.inter * (in_.nodes <= 2 && tree ? 2 : 1);
    double each = std::min(intra, inter);
    if (tree) each = std::min(each, nccl_constants.nvls_tree_per_channel[chip_][column_]);
    return each * g.channels;
  }

  double collnet_direct_factor() const {
    double factor = static_cast<double>(per_node_) / in_.collnet_direct.channels;
    factor -= (factor - 1) / 2;
    return (in_.compute_capability >= 90 ? 0.85 : 1) / factor;
  }

  /// First the bus bandwidth, that of the links, as NCCL caps and scales it by protocol. The last
  /// line converts it to bytes of the vector per second: a ring sends 2 (R-1) / R of the vector,
  /// trees and CollNet send it up and down.
  double bandwidth(NcclAlgorithm a, NcclProtocol p) const {
    const NcclConstants& c = nccl_constants;
    const NcclGraph& g = graph(a);
    const double each = in_.nodes <= 2 || is_collnet(a) ? g.intra : g.inter;
    double bus = is_nvls(a) ? nvls_bandwidth(a) : g.channels * each;
    const bool amd = in_.cpu == NcclCpu::amd;
    const double ll_most = c.ll_most[in_.nodes == 1 ? chip_ : amd ? 1 : 0][column_];
    if (a == NcclAlgorithm::ring && p == NcclProtocol::ll) bus = std::min(ll_most, bus / 2);
    if (a == NcclAlgorithm::ring && p == NcclProtocol::ll128) {
      bus = std::min(bus * 0.92, g.channels * c.ring_ll128_per_channel[chip_][column_]);
    }
    if (a == NcclAlgorithm::tree) {
      bus = std::min(bus * 0.92, g.channels * c.tree_per_channel[chip_][column_]);
      if (p == NcclProtocol::ll) bus = std::min(bus / 3.8, ll_most);
      if (p == NcclProtocol::ll128) {
        bus = std::min(bus * (in_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                       g.channels * c.tree_ll128_per_channel[chip_][column_]);
      }
      if (g.pattern == 3) bus *= 0.85;
    }
    if (a == NcclAlgorithm::collnet_direct) bus *= collnet_direct_factor();
    const double steps = 2.0 * (in_.ranks - 1);
    return a == NcclAlgorithm::tree || is_collnet(a) ? bus * 0.5 : bus * in_.ranks / steps;
  }

  double latency(NcclAlgorithm a, NcclProtocol p) const {
    const NcclConstants& c = nccl_constants;
    const NcclGraph& g = graph(a);
    const bool simple = p == NcclProtocol::simple;
    const bool power_tree =
        in_.cpu == NcclCpu::power && a == NcclAlgorithm::tree && simple;  // over PCI as a ring
    const double pci = c.pci_latency[index(power_tree ? NcclAlgorithm::ring : a)][index(p)];
    const double intra = g.type_intra == NcclPath::nvl ? c.nvlink_latency[index(a)][index(p)] : pci;
    // With one rank per node NCCL takes the tree's network latency for every algorithm.
    const NcclAlgorithm far = per_node_ == 1 ? NcclAlgorithm::tree : a;
    const double inter = c.net_latency[index(far)][index(p)] + g.latency_inter * (simple ? 2 : 1);
    const double base = c.base_latency[index(a)][index(p)];
    const double log_nodes = std::bit_width(static_cast<unsigned>(in_.nodes)) - 1;  // floor
    switch (a) {
      case NcclAlgorithm::ring: {
        const double steps = 2.0 * (in_.ranks - 1);
        const double far_steps = in_.nodes == 1 ? 0 : 2.0 * (in_.nodes - 1);
        const double overhead = (in_.cpu == NcclCpu::amd ? 2.0 : 1.0) * (simple ? 3 : 1);
        const double step = in_.nodes > 1 ? std::max(intra, overhead) : intra;
        return base + (steps - far_steps) * step + far_steps * inter;
      }
      case NcclAlgorithm::tree:
        return base + 2 * ((per_node_ - 1) * intra + log_nodes * inter);
      case NcclAlgorithm::nvls:
        return base + intra + (in_.nodes > 1 ? inter : 0);
      case NcclAlgorithm::nvls_tree:
        return base + intra + 2 * log_nodes * inter;
      case NcclAlgorithm::collnet_chain:
        return base + 2 * (per_node_ - 1) * intra + inter;
      default:
        return base + 2 * (std::min(1, per_node_ - 1) * intra + (per_node_ - 1) * 0.4) + inter;
    }
  }

  // Factors by powers of two from 64 bytes on.
  static double tree_correction(NcclProtocol p, double bytes) {
    const auto size = static_cast<std::uint64_t>(bytes) >> 6;
    if (size == 0) return 1;
    const auto log = static_cast<std::size_t>(std::bit_width(size) - 1);
    const auto& factors = nccl_constants.tree_correction[index(p)];
    return log < factors.size() ? factors[log] : 1;
  }

  /// Channels, and threads of each: NCCL reduces first the former, then the latter, until each
  /// thread has at least `threshold` bytes.
  void set_blocks(double bytes, NcclTime& found) const {
    const NcclAlgorithm a = found.algorithm;
    const NcclProtocol p = found.protocol;
    const bool ring = a == NcclAlgorithm::ring;
    const bool thin = ring && in_.ring.intra * in_.ring.channels <= 12;
    int threads = p == NcclProtocol::ll ? 512 : p == NcclProtocol::ll128 ? 640 : thin ? 256 : 512;
    double threshold = p == NcclProtocol::simple ? 64 : 8;
    if (ring && p == NcclProtocol::ll) threshold *= in_.ranks;
    int blocks = is_nvls(a) ? in_.nvls.channels : channels_;
    if (is_nvls(a) || is_collnet(a)) {
      threads = 640;
    } else {
      while (blocks > 1 && bytes < blocks * threads * threshold) --blocks;
      while (bytes < blocks * threads * threshold && threads % 128 == 0) threads /= 2;
    }
    if (ring && p == NcclProtocol::simple) threads += 32;
    found.channels = blocks;
    found.threads = a == NcclAlgorithm::tree ? 640 : std::max(threads, 96);
  }

  const NcclInputs& in_;
  bool has_nvls_;     // the operator of the type; an average NCCL never takes to the switches
  bool has_collnet_;  // an average as a sum
  int per_node_;
  std::size_t chip_;
  std::size_t column_;
  int channels_;
};

/// What is taken costs nothing, if it is to be had.
void settle(const SettledPlay& settled, std::vector<NcclTime>& times) {
  auto taken = std::find_if(times.begin(), times.end(), [&](const NcclTime& time) {
    return time.algorithm == settled.algorithm && time.protocol == settled.protocol;
  });
  if (settled.algorithm == NcclAlgorithm::all_pairs) {
    taken = times.insert(times.end(), {settled.algorithm, settled.protocol});
  }
  if (taken == times.end()) return;
  taken->time = Seconds{0};
  if (settled.channels > 0) taken->channels = settled.channels;
}

}  // namespace

std::string_view to_string(NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::all_pairs) return "all_pairs";
  return nccl_algorithm_names[index(algorithm)];
}
std::string_view to_string(NcclProtocol protocol) { return nccl_protocol_names[index(protocol)]; }
std::string_view policy_name(NcclAlgorithm algorithm) { return algorithm_names[index(algorithm)]; }
std::string_view policy_name(NcclProtocol protocol) { return protocol_names[index(protocol)]; }

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name) {
  return named<NcclAlgorithm>(name, algorithm_names);
}
std::optional<NcclProtocol> nccl_protocol(std::string_view name) {
  return named<NcclProtocol>(name, protocol_names);
}
std::optional<NcclAlgorithm> nccl_file_algorithm(std::string_view name) {
  return named<NcclAlgorithm>(name, nccl_algorithm_names);
}
std::optional<NcclProtocol> nccl_file_protocol(std::string_view name) {
  return named<NcclProtocol>(name, nccl_protocol_names);
}

std::vector<NcclTime> nccl_times(const NcclInputs& inputs, Bytes bytes, TypedOp what,
                                 bool in_place) {
  require(inputs.nodes >= 1 && inputs.ranks >= 2 && inputs.ranks % inputs.nodes == 0,
          fmt::format("{} ranks on {} nodes: NCCL's model needs at least two, and nodes that "
                      "divide them",
                      inputs.ranks, inputs.nodes));
  require(inputs.ring.channels > 0, "NCCL's model needs the graph of the ring");
  const Tuner tuner(inputs, what);
  std::vector<NcclTime> times;
  for (std::size_t a = 0; a < nccl_algorithm_names.size(); ++a) {
    for (std::size_t p = 0; p < protocol_names.size(); ++p) {
      if (auto time = tuner.time(static_cast<NcclAlgorithm>(a), static_cast<NcclProtocol>(p),
                                 static_cast<double>(bytes.count))) {
        times.push_back(*time);
      }
    }
  }
  if (const auto settled = settled_play(inputs, bytes, what, in_place)) settle(*settled, times);
  return times;
}

}  // namespace collbench

#include "heuristics/diagnosis/suspects.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

using namespace literals;

constexpr double healthy_weight = 15;  // against about as much for all causes together

/// The machine that the library believes to run on, which chooses, and the one that it runs on,
/// which takes the time.
struct PlayedOn {
  NcclInputs believed;
  NcclInputs real;
  LibraryQuestion question;
};

/// The NcclGraphs of all algorithms.
template <typename Change>
void change_graphs(NcclInputs& in, Change change) {
  for (NcclGraph* graph : {&in.ring, &in.tree, &in.nvls, &in.collnet_chain, &in.collnet_direct}) {
    change(*graph);
  }
}

void scale_network(NcclInputs& in, double share) {
  in.hardware.of_node *= share;
  change_graphs(in, [&](NcclGraph& graph) {
    graph.intra *= share;  // what a channel carries between nodes is limited alike inside
    graph.inter *= share;
  });
}

void scale_gpus(NcclInputs& in, double share) {
  in.hardware.of_gpu *= share;
  in.hardware.nvls *= share;
  change_graphs(in, [&](NcclGraph& graph) {
    const double cap = in.hardware.of_gpu / std::max(1, graph.channels);
    const double intra = in.nodes == 1 ? graph.intra * share : std::min(graph.intra, cap);
    graph.inter = in.nodes == 1 ? graph.inter * share : std::min(graph.inter, cap);
    graph.intra = intra;
  });
}

void lengthen_hops(NcclInputs& in, double factor, Seconds added) {
  AdapterNetwork& network = in.hardware.network;
  const Seconds before = network.hop_simple;
  network.hop_ll = network.hop_ll * factor + added;
  network.hop_simple = network.hop_simple * factor + added;
  const double extra_us = (network.hop_simple - before).count() * 1e6;
  change_graphs(in, [&](NcclGraph& graph) { graph.latency_inter += extra_us; });
}

/// Adapters reach the GPUs through the processor.
void lengthen_path(NcclInputs& in) {
  change_graphs(in, [](NcclGraph& graph) { graph.type_inter = NcclPath::sys; });
}

void without_nvls(NcclInputs& in) { in.nvls.channels = 0; }

Seconds time_on(const PlayedOn& on, Bytes bytes) {
  LibraryQuestion question = on.question;
  question.bytes = bytes;
  const LibraryPlay chosen = library_choice(on.believed, question);
  question.algorithm = chosen.tuner.algorithm;
  question.protocol = chosen.tuner.protocol;
  return library_choice(on.real, question).time;
}

/// Collects suspects; those of one cause share its weight.
class Suspects {
 public:
  using TimeOf = std::function<Seconds(Bytes)>;

  explicit Suspects(std::span<const Bytes> sizes) : sizes_(sizes) {}

  /// The first is the machine as it should be.
  void add(const char* name, double weight, std::string words, const TimeOf& time) {
    Suspect suspect{name == nullptr ? nullptr : &cause(name), std::move(words), weight, {}};
    try {
      for (const Bytes size : sizes_) suspect.times.push_back(time(size));
    } catch (const InvalidArgument&) {
      return;  // the library has no such play on that machine
    }
    if (all_.empty() || differs(suspect)) all_.push_back(std::move(suspect));
  }

  std::vector<Suspect> finished() { return std::move(all_); }

 private:
  bool differs(const Suspect& suspect) const {
    constexpr double visible = 0.03;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const double ratio = suspect.times[i] / all_.front().times[i];
      if (std::abs(std::log(ratio)) > visible) return true;
    }
    return false;
  }

  std::span<const Bytes> sizes_;
  std::vector<Suspect> all_;
};

class LibrarySuspects {
 public:
  LibrarySuspects(const NcclInputs& inputs, const LibraryQuestion& question,
                  std::span<const Bytes> sizes)
      : in_(inputs), question_(question), found_(sizes) {}

  std::vector<Suspect> all() {
    found_.add(nullptr, healthy_weight, "as it should be", timed({in_, in_, question_}));
    if (in_.nodes > 1) {
      add_adapters();
      add_paths();
      add_network();
    }
    add_gpus();
    if (!question_.algorithm && !question_.protocol) add_choices();
    add_late_rank();
    return found_.finished();
  }

 private:
  Suspects::TimeOf timed(PlayedOn on) const {
    return [on = std::move(on)](Bytes bytes) { return time_on(on, bytes); };
  }

  /// `change` is known to the library.
  template <typename Change>
  void add_known(const char* name, double weight, std::string words, Change change) {
    PlayedOn on{in_, in_, question_};
    change(on.believed);
    on.real = on.believed;
    found_.add(name, weight, std::move(words), timed(std::move(on)));
  }
  /// `change` is not.
  template <typename Change>
  void add_unknown(const char* name, double weight, std::string words, Change change) {
    PlayedOn on{in_, in_, question_};
    change(on.real);
    found_.add(name, weight, std::move(words), timed(std::move(on)));
  }

  int adapters() const { return std::max(1, in_.hardware.adapters); }
  double of_adapter() const { return in_.hardware.of_node / adapters(); }

  /// (k-1)/k of the rate where channels are spread anew, down to a half where two share an adapter:
  /// NVIDIA/nccl-tests issue 128. GPUs with several adapters lose one of theirs.
  void add_adapters() {
    const int k = adapters();
    const auto missing = [&](double share, double weight, std::string words) {
      add_known("nic_missing", weight, std::move(words),
                [&](NcclInputs& in) { scale_network(in, share); });
    };
    const int of_gpu = k / (in_.ranks / in_.nodes);
    if (k > 1) missing((k - 1.0) / k, 0.5, fmt::format("{} of {} adapters", k - 1, k));
    if (of_gpu > 1 && of_gpu < k) {
      missing((of_gpu - 1.0) / of_gpu, 0.3,
              fmt::format("{} of {} adapters of a GPU", of_gpu - 1, of_gpu));
    }
    if (k > 2) missing(0.5, 0.3, "two channels share an adapter, or half of them are missing");
    if (k >= 4) missing(0.25, 0.1, fmt::format("{} of {} adapters", k / 4, k));
    // PCIe: Gen 5 x16 carries 50 GB/s, Gen 4 x16 26, and half the width half of it.
    for (const double carries : {26.0, 13.0, 6.5}) {
      if (carries > 0.8 * of_adapter()) continue;
      add_known("pcie_downgraded", 0.3,
                fmt::format("a link of {:g} GB/s to an adapter of {:.0f}", carries, of_adapter()),
                [&](NcclInputs& in) { scale_network(in, carries / of_adapter()); });
    }
  }

  /// NVIDIA/nccl issue 412: 10 to 18 GB/s an adapter, whatever its rate. GPUDirect: NVIDIA/nccl
  /// issues 1412 (33 of 93) and 465 (6 of 12); at most 16 an adapter, and longer hops.
  void add_paths() {
    for (const double carries : {10.0, 12.0, 14.0, 16.0, 18.0}) {
      if (carries > 0.8 * of_adapter()) continue;
      add_known("nic_affinity", 0.14, fmt::format("{:g} GB/s an adapter", carries),
                [&](NcclInputs& in) {
                  scale_network(in, carries / of_adapter());
                  lengthen_hops(in, 1.1, Seconds{0});
                  lengthen_path(in);
                });
    }
    constexpr double most_of_adapter = 16;
    for (const double share : {0.2, 0.27, 0.35, 0.45, 0.55}) {
      const double reached = std::min(share, most_of_adapter / of_adapter());
      for (const double hop : {1.4, 2.0, 3.0}) {
        add_known("gdr_off", 1.0 / 15,
                  fmt::format("{:.1f} GB/s an adapter, hops {:g} times as long",
                              reached * of_adapter(), hop),
                  [&](NcclInputs& in) {
                    scale_network(in, reached);
                    lengthen_hops(in, hop, Seconds{0});
                    lengthen_path(in);
                  });
      }
    }
  }

  /// A node's rate over TCP (NVIDIA/nccl issues 209 and 450: 1.8 to 6 GB/s), and its hops.
  void add_sockets() {
    if (in_.hardware.network.name == "sockets") return;
    for (const double rate : {1.2, 2.5, 4.0, 7.0}) {
      if (rate > 0.6 * in_.hardware.of_node) continue;
      for (const double hop_us : {30.0, 60.0, 120.0}) {
        add_known("sockets", 1.0 / 12, fmt::format("{:g} GB/s a node, {:g} us a hop", rate, hop_us),
                  [&](NcclInputs& in) {
                    scale_network(in, rate / in.hardware.of_node);
                    AdapterNetwork& network = in.hardware.network;
                    network.hop_ll = std::max(network.hop_ll, Seconds{hop_us * 1e-6});
                    network.hop_simple = std::max(network.hop_simple, 2.7 * network.hop_ll);
                    lengthen_path(in);
                  });
      }
    }
  }

  /// Near a half, or worse the more bytes are in flight (29 to 5 GB/s from 64 MiB on): NVIDIA/nccl
  /// issue 1453. Pairs of nodes seldom collide.
  void add_congestion() {
    const double weight = (in_.nodes > 2 ? 1.0 : 0.15) / 6;
    for (const double share : {0.4, 0.5, 0.65}) {
      add_unknown("congestion", weight, fmt::format("{:g} of the rate", share),
                  [&](NcclInputs& in) { scale_network(in, share); });
    }
    for (const double from : {8.0, 32.0, 128.0}) {
      const PlayedOn on{in_, in_, question_};
      const auto time = [&](Bytes bytes) {
        const double over = static_cast<double>(bytes.count) / (from * 1048576);
        PlayedOn slower = on;
        scale_network(slower.real, std::clamp(std::pow(over, -0.6), 0.17, 1.0));
        return time_on(slower, bytes);
      };
      found_.add("congestion", weight, fmt::format("worse from {:g} MiB on", from), time);
    }
  }

  /// A chunk of a channel is at most 512 KiB (NCCL's buffers of 4 MiB in 8 steps).
  void add_network() {
    add_sockets();
    add_congestion();
    constexpr double chunk_bytes = 512 * 1024;
    for (const double us : {10.0, 20.0, 40.0, 80.0, 160.0}) {
      add_unknown("step_cost", 0.14, fmt::format("{:g} us more a step", us), [&](NcclInputs& in) {
        const double chunk_us = chunk_bytes * in.ring.channels / (1e3 * in.hardware.of_node);
        scale_network(in, chunk_us / (chunk_us + us));
        lengthen_hops(in, 1, Seconds{us * 1e-6});
      });
    }
    for (const double share : {0.3, 0.45, 0.6, 0.75}) {
      add_unknown("network_slow", 0.03, fmt::format("{:g} of the rate", share),
                  [&](NcclInputs& in) { scale_network(in, share); });
    }
  }

  void add_gpus() {
    const bool nvlink = in_.ring.type_intra == NcclPath::nvl && in_.ranks > in_.nodes;
    if (in_.nodes == 1 && in_.nvls.channels > 0) {
      add_known("nvls_off", 1, "rings in place of the switches' sums", without_nvls);
    }
    for (const double rate : {3.0, 6.0, 12.0, 20.0}) {
      if (rate > 0.6 * in_.hardware.of_gpu) continue;
      for (const double step : {1.5, 3.0}) {
        add_known("host_staging", 1.0 / 8,
                  fmt::format("{:g} GB/s a GPU, steps {:g} times as long", rate, step),
                  [&](NcclInputs& in) {
                    scale_gpus(in, rate / in.hardware.of_gpu);
                    in.hardware.gpu.step_factor *= step;
                    in.ll128 = false;
                    in.ring.type_intra = in.tree.type_intra = NcclPath::phb;
                    without_nvls(in);
                  });
      }
    }
    for (const double share : {1.0 / 6, 1.0 / 3, 0.5, 2.0 / 3}) {
      const char* name = nvlink ? "wrong_mesh" : "pcie_downgraded";
      add_known(name, 0.15, fmt::format("{:.2f} of the rate between GPUs", share),
                [&](NcclInputs& in) { scale_gpus(in, share); });
    }
    for (const double clock : {0.2, 0.3, 0.45, 0.6, 0.75}) {
      add_unknown("throttled", 0.14, fmt::format("a clock of {:g} of the usual", clock),
                  [&](NcclInputs& in) {
                    scale_gpus(in, clock);
                    in.hardware.gpu.step_factor /= clock;
                    in.hardware.gpu.start_factor /= std::sqrt(clock);  // half of it is the host's
                  });
    }
  }

  /// The library plays something else than it would choose, up to a size.
  void add_forced(const char* name, double weight, std::string words,
                  std::optional<NcclAlgorithm> algorithm, std::optional<NcclProtocol> protocol,
                  Bytes to = {std::int64_t{1} << 62}) {
    PlayedOn forced{in_, in_, question_};
    forced.question.algorithm = algorithm;
    forced.question.protocol = protocol;
    const PlayedOn usual{in_, in_, question_};
    found_.add(name, weight, std::move(words),
               [=](Bytes bytes) { return time_on(bytes <= to ? forced : usual, bytes); });
  }

  void add_choices() {
    const auto none = std::nullopt;
    add_forced("ll_at_large", 0.5, "LL at all sizes", none, NcclProtocol::ll);
    add_forced("ll_at_large", 0.2, "LL to 64 MiB", none, NcclProtocol::ll, 64_MiB);
    add_forced("switch_misplaced", 0.2, "Simple at all sizes", none, NcclProtocol::simple);
    add_forced("switch_misplaced", 0.2, "LL to 4 MiB", none, NcclProtocol::ll, 4_MiB);
    add_forced("switch_misplaced", 0.1, "LL to 16 MiB", none, NcclProtocol::ll, 16_MiB);
    add_known("ll128_lost", 0.7, "no LL128", [](NcclInputs& in) { in.ll128 = false; });
    if (in_.nodes == 1) return;
    // On two nodes a ring is somebody's choice, as a tree is, and fills the adapters.
    const bool pair = in_.nodes == 2;
    add_forced(pair ? nullptr : "switch_misplaced", pair ? healthy_weight / 5 : 0.1,
               "rings at all sizes", NcclAlgorithm::ring, none);
    add_forced(pair ? "two_node_tree" : "switch_misplaced", pair ? 0.5 : 0.1, "trees at all sizes",
               NcclAlgorithm::tree, none);
  }

  void add_late_rank() {
    const PlayedOn on{in_, in_, question_};
    for (double us = 30; us < 3e4; us *= 1.5) {
      found_.add("straggler", 1.0 / 18, fmt::format("{:.0f} us late", us),
                 [&](Bytes bytes) { return time_on(on, bytes) + Seconds{us * 1e-6}; });
    }
  }

  const NcclInputs& in_;
  const LibraryQuestion& question_;
  Suspects found_;
};

}  // namespace

std::vector<Suspect> library_suspects(const NcclInputs& inputs, const LibraryQuestion& question,
                                      std::span<const Bytes> sizes) {
  return LibrarySuspects(inputs, question, sizes).all();
}

std::vector<Suspect> curve_suspects(std::span<const Bytes> sizes,
                                    std::span<const Seconds> expected) {
  Suspects found(sizes);
  const auto at = [&](Bytes bytes) {
    return expected[static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), bytes) -
                                             sizes.begin())];
  };
  const Seconds latency = *std::min_element(expected.begin(), expected.end());
  found.add(nullptr, healthy_weight, "as it should be", at);
  for (const double share : {0.2, 0.3, 0.45, 0.6, 0.75}) {
    found.add("network_slow", 0.3, fmt::format("{:g} of the rate", share),
              [&](Bytes bytes) { return latency + (at(bytes) - latency) * (1 / share); });
  }
  for (const double longer : {2.0, 4.0, 8.0}) {
    found.add("step_cost", 0.3, fmt::format("steps {:g} times as long", longer),
              [&](Bytes bytes) { return at(bytes) + latency * (longer - 1); });
  }
  for (double us = 30; us < 3e4; us *= 1.5) {
    found.add("straggler", 1.0 / 18, fmt::format("{:.0f} us late", us),
              [&](Bytes bytes) { return at(bytes) + Seconds{us * 1e-6}; });
  }
  return found.finished();
}

}  // namespace collbench

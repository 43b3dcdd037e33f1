#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "heuristics/diagnosis/changed_machine.h"
#include "heuristics/diagnosis/diagnosis.h"
#include "heuristics/diagnosis/suspicion_list.h"

namespace collbench {
namespace {

using namespace literals;

class LibrarySuspicions {
 public:
  LibrarySuspicions(const NcclInputs& inputs, const LibraryQuestion& question,
                    std::span<const Bytes> sizes)
      : in_(inputs), question_(question), found_(sizes) {}

  std::vector<Suspicion> all() {
    const bool free = !question_.algorithm && !question_.protocol;
    const bool pair = in_.nodes == 2;
    add_healthy("as it should be", 1);
    add_faults();
    add_protocols();
    if (free) add_algorithms();
    found_.weigh(1, pair);
    if (!free || !pair) return found_.take();
    // On two nodes rings are often asked for, and fill the adapters: no fault, but another curve.
    constexpr double asked_for = 0.4;
    question_.algorithm = NcclAlgorithm::ring;
    add_healthy("rings at all sizes", asked_for);
    add_faults();
    found_.weigh(asked_for, pair);
    return found_.take();
  }

 private:
  void add_healthy(const char* words, double share) {
    Suspicion& healthy = found_.add_healthy(words, share, timed({in_, in_, question_}));
    LibraryQuestion question = question_;
    for (const Bytes size : found_.sizes()) {
      question.bytes = size;
      healthy.played.push_back(to_string(library_choice(in_, question)));
    }
  }

  void add_faults() {
    if (in_.nodes > 1) {
      add_missing();
      add_narrow();
      add_paths();
      add_sockets();
      if (in_.nodes > 2 || adapters() > 1) add_congestion();
      add_slow_network();
      add_steps();
    }
    add_gpus();
    add_late_rank();
  }

  SuspicionList::TimeOf timed(PlayedOn on) const {
    return [on = std::move(on)](Bytes bytes) { return time_on(on, bytes); };
  }

  /// `change` is known to the library.
  template <typename Change>
  void add_known(const char* name, std::string words, Change change, double weight = 1) {
    PlayedOn on{in_, in_, question_};
    change(on.believed);
    on.real = on.believed;
    found_.add(name, weight, std::move(words), timed(std::move(on)));
  }
  /// `change` is not.
  template <typename Change>
  void add_unknown(const char* name, std::string words, Change change) {
    PlayedOn on{in_, in_, question_};
    change(on.real);
    found_.add(name, 1, std::move(words), timed(std::move(on)));
  }

  int adapters() const { return std::max(1, in_.hardware.adapters); }
  double of_adapter() const { return in_.hardware.of_node / adapters(); }

  /// (k-1)/k of the rate where channels are spread anew, down to a half where two share an adapter:
  /// NVIDIA/nccl-tests issue 128. GPUs with several adapters lose one of theirs.
  void add_missing() {
    const int k = adapters();
    const auto missing = [&](double share, double weight, const std::string& words) {
      add_known(
          "nic_missing", words, [&](NcclInputs& in) { scale_network(in, share); }, weight);
      found_.add_plain("nic_missing", weight, words, {share});
    };
    const int of_gpu = k / (in_.ranks / in_.nodes);
    if (k > 1) missing((k - 1.0) / k, 5, fmt::format("{} of {} adapters", k - 1, k));
    if (of_gpu > 1 && of_gpu < k) {
      missing((of_gpu - 1.0) / of_gpu, 3,
              fmt::format("{} of {} adapters of a GPU", of_gpu - 1, of_gpu));
    }
    if (k > 2) missing(0.5, 2, "two channels share an adapter, or half of them are missing");
    if (k >= 4) missing(0.25, 1, fmt::format("{} of {} adapters", k / 4, k));
  }

  /// Gen 5 x16 carries 50 GB/s, Gen 4 x16 26, and half the width half of it.
  void add_narrow() {
    for (const double carries : {26.0, 24.0, 13.0, 12.0, 6.5}) {
      if (carries > 0.8 * of_adapter()) continue;
      const double share = carries / of_adapter();
      const std::string words =
          fmt::format("a link of {:g} GB/s to an adapter of {:.0f}", carries, of_adapter());
      add_known("nic_missing", words, [&](NcclInputs& in) { scale_network(in, share); });
      found_.add_plain("nic_missing", 1, words, {share});
    }
  }

  /// NVIDIA/nccl issue 412: 10 to 18 GB/s an adapter, whatever its rate. GPUDirect: NVIDIA/nccl
  /// issues 1412 (33 of 93) and 465 (6 of 12); at most 16 an adapter, and longer hops.
  void add_paths() {
    for (const double carries : strengths(10, 18)) {
      if (carries > 0.8 * of_adapter()) continue;
      const double share = carries / of_adapter();
      const std::string words = fmt::format("{:.1f} GB/s an adapter", carries);
      add_known("nic_affinity", words, [&](NcclInputs& in) {
        scale_network(in, share);
        lengthen_path(in);
      });
      found_.add_plain("nic_affinity", 1, words, {share});
    }
    constexpr double most_of_adapter = 16;
    for (const double share : strengths(0.2, 0.55)) {
      const double reached = std::min(share, most_of_adapter / of_adapter());
      for (const double hop_us : {5.0, 12.0, 30.0, 70.0}) {
        add_known("gdr_off",
                  fmt::format("{:.1f} GB/s an adapter, hops longer by {:g} us",
                              reached * of_adapter(), hop_us),
                  [&](NcclInputs& in) {
                    scale_network(in, reached);
                    lengthen_hops(in, Seconds{hop_us * 1e-6});
                    lengthen_path(in);
                  });
      }
      for (const double longer : {1.4, 2.0, 2.8}) {
        found_.add_plain("gdr_off", 1,
                         fmt::format("{:.1f} GB/s an adapter, {:g} times the latency",
                                     reached * of_adapter(), longer),
                         {reached, longer});
      }
    }
  }

  /// A node's rate over TCP, and its hops. A stream fills 32 Gb/s at most in NVIDIA/nccl issue 209,
  /// nodes reach 1.8 to 6 GB/s there and in issue 450 with one adapter; with two to four, each of
  /// which has its own streams, as many times that. Kernels on both sides take 15 us at least.
  void add_sockets() {
    if (in_.hardware.network.name == "sockets") return;
    for (const double rate : strengths(1.2, 14)) {
      if (rate > 0.6 * in_.hardware.of_node) continue;
      for (const double hop_us : {15.0, 30.0, 60.0, 120.0}) {
        add_known("sockets", fmt::format("{:.1f} GB/s a node, {:g} us a hop", rate, hop_us),
                  [&](NcclInputs& in) { use_sockets(in, rate, Seconds{hop_us * 1e-6}); });
      }
      for (const double longer : {1.7, 3.0, 6.0}) {
        found_.add_plain("sockets", 1,
                         fmt::format("{:.1f} GB/s a node, {:g} times the latency", rate, longer),
                         {rate / in_.hardware.of_node, longer});
      }
    }
  }

  /// Near a half, or worse the more bytes are in flight, down to a sixth at once (29 to 5 GB/s from
  /// 64 MiB on): NVIDIA/nccl issue 1453. One flow each way has none to collide with.
  void add_congestion() {
    for (const double share : strengths(0.35, 0.65)) {
      const std::string words = fmt::format("{:.2f} of the rate", share);
      add_unknown("congestion", words, [&](NcclInputs& in) { scale_network(in, share); });
      found_.add_plain("congestion", 1, words, {share});
    }
    for (const double from : {4.0, 8.0, 16.0, 32.0, 64.0, 128.0}) {
      add_falling(1, fmt::format("worse from {:g} MiB on", from), {from, -0.6, 0.17});
      add_falling(0.3, fmt::format("far worse from {:g} MiB on", from), {from, -2, 0.02});
    }
  }

  void add_slow_network() {
    for (const double share : strengths(0.3, 0.8)) {
      add_unknown("network_slow", fmt::format("{:.2f} of the rate", share),
                  [&](NcclInputs& in) { scale_network(in, share); });
    }
  }

  void add_falling(double weight, const std::string& words, const FallingRate& rate) {
    found_.add("congestion", weight, words, [&](Bytes bytes) {
      PlayedOn slower{in_, in_, question_};
      scale_network(slower.real, rate.at(bytes));
      return time_on(slower, bytes);
    });
    found_.add_plain("congestion", weight, words,
                     [=](const HealthyCurve& curve, Bytes bytes, Seconds healthy) {
                       const double lost = 1 / rate.at(bytes) - 1;
                       return healthy + curve.of_byte * (static_cast<double>(bytes.count) * lost);
                     });
  }

  /// NVIDIA/nccl issue 2409. A chunk of a channel is at most 512 KiB (buffers of 4 MiB in 8 steps).
  void add_steps() {
    constexpr double chunk_bytes = 512 * 1024;
    const double round_bytes = chunk_bytes * in_.nodes * std::max(1, in_.ring.channels);
    const double steps = 2.0 * (in_.nodes - 1);
    for (const double us : strengths(10, 160)) {
      const std::string words = fmt::format("{:.0f} us more a step", us);
      found_.add_plain("step_cost", 1, words,
                       [=](const HealthyCurve&, Bytes bytes, Seconds healthy) {
                         const double rounds = static_cast<double>(bytes.count) / round_bytes;
                         return healthy + Seconds{us * 1e-6 * steps * std::max(1.0, rounds)};
                       });
      add_unknown("step_cost", words, [&](NcclInputs& in) {
        const double chunk_us = chunk_bytes * in.ring.channels / (1e3 * in.hardware.of_node);
        scale_network(in, chunk_us / (chunk_us + us));
        lengthen_hops(in, Seconds{us * 1e-6});
      });
    }
  }

  void add_gpus() {
    if (in_.nodes == 1 && in_.nvls.channels > 0) {
      add_known("nvls_off", "rings in place of the switches' sums", remove_nvls);
      // NVIDIA/nccl issues 2140 (370 of 480 GB/s) and 1221 (330 of 430).
      for (const double share : {0.72, 0.77, 0.82}) {
        found_.add_plain("nvls_off", 1, fmt::format("{:.2f} of the rate", share), {share});
      }
    }
    if (in_.ranks == in_.nodes) return;
    for (const double rate : strengths(3, 20)) {
      if (rate > 0.6 * in_.hardware.of_gpu) continue;
      for (const double step : {1.3, 2.0, 3.0}) {
        add_known("host_staging",
                  fmt::format("{:.1f} GB/s a GPU, steps {:g} times as long", rate, step),
                  [&](NcclInputs& in) {
                    scale_gpus(in, rate / in.hardware.of_gpu);
                    in.hardware.gpu.step_factor *= step;
                    in.ll128 = false;
                    in.ring.type_intra = in.tree.type_intra = NcclPath::phb;
                    remove_nvls(in);
                  });
      }
      for (const double longer : {1.5, 2.5}) {
        if (in_.nodes > 1) break;
        found_.add_plain("host_staging", 1,
                         fmt::format("{:.1f} GB/s a GPU, {:g} times the latency", rate, longer),
                         {rate / in_.hardware.of_gpu, longer});
      }
    }
    const bool linked = in_.ring.type_intra == NcclPath::nvl && in_.nodes == 1;
    for (const double share : strengths(0.15, 0.7)) {
      if (!linked) break;
      const std::string words = fmt::format("{:.2f} of the rate between GPUs", share);
      add_known("wrong_mesh", words, [&](NcclInputs& in) { scale_gpus(in, share); });
      found_.add_plain("wrong_mesh", 1, words, {share});
    }
    add_clocks();
  }

  /// One GPU of 16 took five times as long (causes.cc).
  void add_clocks() {
    for (const double clock : strengths(0.2, 0.7)) {
      add_unknown("throttled", fmt::format("a clock of {:.2f} of the usual", clock),
                  [&](NcclInputs& in) {
                    scale_gpus(in, clock);
                    in.hardware.gpu.step_factor /= clock;
                    in.hardware.gpu.start_factor /= std::sqrt(clock);  // half of it is the host's
                  });
      const std::string words = fmt::format("{:.1f} times as long", 1 / clock);
      found_.add_plain("throttled", 1, words, [=](const HealthyCurve&, Bytes, Seconds healthy) {
        return healthy / clock;
      });
      if (in_.nodes == 1) found_.add_plain("throttled", 0.3, words, {clock});
    }
  }

  /// Where issues see holes: between 64 KiB and 16 MiB, as coarse as a library's thresholds.
  static constexpr std::pair<Bytes, Bytes> forced_bands[] = {
      {64_KiB, 1_MiB},  {64_KiB, 4_MiB},   {64_KiB, 16_MiB}, {256_KiB, 1_MiB},
      {256_KiB, 4_MiB}, {256_KiB, 16_MiB}, {1_MiB, 4_MiB},   {1_MiB, 16_MiB}};
  static std::string in_words(Bytes from, Bytes to) {
    return fmt::format(" from {} to {}", to_string(from), to_string(to));
  }

  /// The library plays something else than it would choose, in a band of sizes.
  struct Forced {
    std::optional<NcclAlgorithm> algorithm;
    std::optional<NcclProtocol> protocol;
    Bytes from{0};
    Bytes to{std::int64_t{1} << 62};
  };
  void add_forced(const char* name, double weight, std::string words, const Forced& what) {
    PlayedOn forced{in_, in_, question_};
    forced.question.algorithm = what.algorithm;
    forced.question.protocol = what.protocol;
    const PlayedOn usual{in_, in_, question_};
    found_.add(name, weight, std::move(words), [=](Bytes bytes) {
      return time_on(bytes >= what.from && bytes <= what.to ? forced : usual, bytes);
    });
  }

  /// NVIDIA/nccl issues 281 (LL everywhere) and 1261 (switches; small and large sizes as usual).
  void add_protocols() {
    if (question_.protocol) return;
    const auto algorithm = question_.algorithm;
    add_forced("ll_at_large", 5, "LL at all sizes", {algorithm, NcclProtocol::ll});
    add_forced("ll_at_large", 1, "LL to 64 MiB", {algorithm, NcclProtocol::ll, {}, 64_MiB});
    // Half of the rate is no LL where the library's own reaches far less.
    const double most = 2 * share_of_protocol({in_, in_, question_}, NcclProtocol::ll, 256_MiB);
    for (const double share : {0.37, 0.42, 0.48}) {
      if (share > most) continue;
      found_.add_plain(
          "ll_at_large", 1, fmt::format("{:.2f} of the rate from 64 KiB on", share),
          [=](const HealthyCurve& curve, Bytes bytes, Seconds healthy) {
            const std::int64_t beyond = bytes.count - (64_KiB).count;
            if (beyond <= 0) return healthy;
            return std::max(
                healthy, curve.at_64_KiB + curve.of_byte * (static_cast<double>(beyond) / share));
          });
    }
    add_known(
        "switch_misplaced", "no LL128", [](NcclInputs& in) { in.ll128 = false; }, 6);
    for (const auto& [from, to] : forced_bands) {
      for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::simple}) {
        add_forced("switch_misplaced", 1,
                   fmt::format("{}{}", to_string(protocol), in_words(from, to)),
                   {algorithm, protocol, from, to});
      }
    }
    for (Bytes from = 128_KiB; from <= 4_MiB; from = from * 2) {
      for (const int times : {2, 4, 8, 32}) {
        const Bytes to = from * times;
        if (to > 16_MiB) break;
        for (const double longer : {1.35, 1.65, 2.0}) {
          found_.add_plain("switch_misplaced", 1,
                           fmt::format("{:g} times as long", longer) + in_words(from, to),
                           [=](const HealthyCurve&, Bytes bytes, Seconds healthy) {
                             return bytes >= from && bytes <= to ? healthy * longer : healthy;
                           });
        }
      }
    }
  }

  void add_algorithms() {
    if (in_.nodes == 1) return;
    const auto any = std::nullopt;
    for (const auto& [from, to] : forced_bands) {
      const std::string band = in_words(from, to);
      add_forced("switch_misplaced", 1, "rings" + band, {NcclAlgorithm::ring, any, from, to});
      add_forced("switch_misplaced", 1, "trees" + band, {NcclAlgorithm::tree, any, from, to});
    }
    if (in_.nodes == 2) return add_trees_of_two();
    add_forced("switch_misplaced", 1, "rings at all sizes", {NcclAlgorithm::ring, any});
    add_forced("switch_misplaced", 1, "trees at all sizes", {NcclAlgorithm::tree, any});
  }

  /// No fault where they are faster than what the adapters of a node carry.
  void add_trees_of_two() {
    PlayedOn on{in_, in_, question_};
    on.question.algorithm = NcclAlgorithm::tree;
    const Bytes large = found_.sizes().back();
    const Bandwidth busbw = bus_bandwidth(large, time_on(on, large), in_.ranks);
    if (busbw.bytes_per_second < 1e9 * in_.hardware.of_node) return;
    add_forced("two_node_tree", 1, "trees at all sizes", {NcclAlgorithm::tree, std::nullopt});
  }

  /// Less than some latencies is no late rank that a table could show.
  void add_late_rank() {
    const Seconds latency = time_on({in_, in_, question_}, SuspicionList::smallest);
    for (LateRank& late : late_rank_curves(std::max(least_delay, 4 * latency))) {
      found_.add_plain("straggler", 1, std::move(late.words), std::move(late.slower));
    }
  }

  const NcclInputs& in_;
  LibraryQuestion question_;
  SuspicionList found_;
};

}  // namespace

std::vector<Suspicion> library_suspicions(const NcclInputs& inputs, const LibraryQuestion& question,
                                          std::span<const Bytes> sizes) {
  return LibrarySuspicions(inputs, question, sizes).all();
}

}  // namespace collbench

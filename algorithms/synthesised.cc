#include "algorithms/synthesised.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view network_option = "topo";
constexpr std::string_view latency_option = "latency";
constexpr std::string_view tracks_option = "tracks";
constexpr std::string_view routes_option = "routes";
constexpr std::string_view trees_option = "trees";
constexpr std::string_view late_option = "late";
constexpr std::string_view delay_option = "delay";
constexpr Bytes usual_size{64 << 20};  // where none is said

Synthesiser installed = nullptr;

std::string option_of(const AlgorithmSpec& spec, std::string_view name) {
  const auto option = spec.options.find(std::string(name));
  return option == spec.options.end() ? "" : option->second;
}

/// "3+5", each late by the same time.
std::vector<std::pair<Rank, Seconds>> late_of(const AlgorithmSpec& spec, int ranks) {
  const std::string late = option_of(spec, late_option);
  const std::string delay = option_of(spec, delay_option);
  require(late.empty() == delay.empty(),
          "synth: late ranks and their delay go together, as in synth:late=3+5:delay=2ms");
  std::vector<std::pair<Rank, Seconds>> made;
  if (late.empty()) return made;
  for (const std::string& part : split_at(late, '+')) {
    const auto rank = static_cast<Rank>(parse_count("synth: late", part, 0, ranks - 1));
    made.emplace_back(rank, parse_duration(delay));
  }
  return made;
}

Schedule make_synthesised(int ranks, const AlgorithmSpec& spec) {
  return synthesised(spec, ranks, usual_size, CollectiveKind::all_reduce).schedule;
}

}  // namespace

void set_synthesiser(Synthesiser synthesiser) { installed = synthesiser; }
bool has_synthesiser() { return installed != nullptr; }

const AlgorithmInfo& synthesised_row() {
  static const AlgorithmInfo row{
      .name = "synth",
      .summary = "Made for one network: trees that fill its links",
      .constraints = "the hosts of the network",
      .cost = "as `collbench synth` says",
      .source = "reduce and broadcast trees packed by linear programs",
      .make = make_synthesised,
      .options = {{network_option, "", "the network, as --topo"},
                  {latency_option, "", "of a link or message, if the network gives none"},
                  {tracks_option, "auto", "that keep their own step; of real ranks 1"},
                  {routes_option, "chosen",
                   "if the network names none; else one, as of real ranks"},
                  {trees_option, "", "only trees, even if a known algorithm is faster"},
                  {late_option, "", "ranks of an all-reduce that join late, as 3+5"},
                  {delay_option, "", "by how much"}},
      .has_shares = true};
  return row;
}

AlgorithmSpec with_trees_only(AlgorithmSpec spec) {
  if (spec.name == synthesised_row().name) spec.options.emplace(trees_option, "");
  return spec;
}

AlgorithmSpec for_ranks_in_step(AlgorithmSpec spec) {
  if (spec.name != synthesised_row().name) return spec;
  spec.options.emplace(tracks_option, "1");
  spec.options.emplace(routes_option, "one");
  return spec;
}

SynthesisRequest synthesis_request(const AlgorithmSpec& spec, int ranks, Bytes bytes,
                                   CollectiveKind kind) {
  const std::string network = option_of(spec, network_option);
  require(!network.empty(), "synth: it is made for a network; name it, as in synth:topo=net.csv");
  require(!has_root(kind), fmt::format("synth has no {}", to_string(kind)));
  auto late = late_of(spec, ranks);
  require(
      late.empty() || kind == CollectiveKind::all_reduce,
      fmt::format("synth: only an all-reduce is made for late ranks, not a {}", to_string(kind)));
  const std::string latency = option_of(spec, latency_option);
  const std::string with = latency.empty() ? "" : ",latency=" + latency;
  const std::string tracks = option_of(spec, tracks_option);
  const bool is_free = tracks.empty() || tracks == "auto";
  const auto count = is_free ? 0 : static_cast<int>(parse_count("synth: tracks", tracks, 1, 64));
  const std::string routes = option_of(spec, routes_option);
  require(routes.empty() || routes == "chosen" || routes == "one",
          fmt::format("synth: routes are chosen or one for each pair, not '{}'", routes));
  return {network + with,  ranks,
          bytes,           kind,
          count,           std::move(late),
          routes != "one", spec.options.count(std::string(trees_option)) == 0};
}

SynthesisedSchedule synthesised(const AlgorithmSpec& spec, int ranks, Bytes bytes,
                                CollectiveKind kind) {
  const SynthesisRequest request = synthesis_request(spec, ranks, bytes, kind);
  if (installed == nullptr) throw Unavailable("synth: this program makes no schedules");
  return installed(request);
}

}  // namespace collbench

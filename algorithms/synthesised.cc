#include "algorithms/synthesised.h"

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr std::string_view network_option = "topo";
constexpr std::string_view latency_option = "latency";
constexpr Bytes usual_size{64 << 20};  // where none is said

Synthesiser installed = nullptr;

Schedule make_synthesised(int ranks, const AlgorithmSpec& spec) {
  return synthesised(spec, ranks, usual_size, CollectiveKind::all_reduce);
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
                  {latency_option, "", "of a link or message, if the network gives none"}},
      .has_shares = true};
  return row;
}

Schedule synthesised(const AlgorithmSpec& spec, int ranks, Bytes bytes, CollectiveKind kind) {
  const auto network = spec.options.find(std::string(network_option));
  require(network != spec.options.end() && !network->second.empty(),
          "synth: it is made for a network; name it, as in synth:topo=net.csv");
  require(!has_root(kind), fmt::format("synth has no {}", to_string(kind)));
  if (installed == nullptr) throw Unavailable("synth: this program makes no schedules");
  const auto latency = spec.options.find(std::string(latency_option));
  const std::string with =
      latency == spec.options.end() || latency->second.empty() ? "" : ",latency=" + latency->second;
  return installed({network->second + with, ranks, bytes, kind});
}

}  // namespace collbench

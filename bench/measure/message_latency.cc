// How long a message takes, asked of the ranks themselves: a schedule made for a network that gives
// no latencies would otherwise be cut so finely that its messages cost more than their bytes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "algorithms/synthesised.h"
#include "bench/measure/trial.h"
#include "bench/records/record.h"
#include "core/error.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr const char* small_all_reduce = "recursive-doubling";
constexpr int timed_iterations = 50;

// Links between the first host and the nearest other; nothing if the network gives a latency.
std::optional<int> links_of_a_message(const std::string& network, int ranks) {
  try {
    const Topology topology = machine(network + ",latency=1us", ranks).topology;
    std::vector<LinkId> route;
    std::size_t fewest = 0;
    for (Host host = 1; host < topology.hosts(); ++host) {
      topology.route(0, host, route);
      if (fewest == 0 || route.size() < fewest) fewest = route.size();
    }
    if (fewest == 0) return std::nullopt;
    return static_cast<int>(fewest);
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

Seconds time_of_a_round(const Case& point, Sampling sampling, Team& team) {
  Case small = point;
  small.algorithm = small_all_reduce;
  small.collective = CollectiveKind::all_reduce;
  small.counts.clear();
  small.groups.clear();
  small.bytes = Bytes{size_of(small.type)};
  small.buffers = Buffers::hot;
  sampling.iterations = timed_iterations;
  sampling.warmup = timed_iterations / 5;
  sampling.check = sampling.back_to_back = sampling.rank_times = false;
  sampling.observe.clear();
  const Measurement measured = team.measure(small, sampling);
  require_unstopped(measured);
  const Summary summary = summarize(measured.latency_ns);
  const int rounds = make_schedule(small_all_reduce, point.workers).rounds();
  return Seconds{summary.median_ns * 1e-9 / rounds};
}

// Two digits, so that what is compared between ranks and runs does not look more exact than it is.
std::string rounded(Seconds time) {
  const double ns = std::max(time.count() * 1e9, 1.0);
  const double digit = std::pow(10.0, std::max(std::floor(std::log10(ns)) - 1, 0.0));
  const auto whole = std::llround(std::round(ns / digit) * digit);
  return whole % 1000 == 0 ? fmt::format("{}us", whole / 1000) : fmt::format("{}ns", whole);
}

}  // namespace

Choice with_message_latency(const Case& point, Choice choice, const Sampling& sampling,
                            Team& team) {
  const std::string_view synth = synthesised_row().name;
  if (!choice.algorithm.starts_with(synth)) return choice;
  const AlgorithmSpec spec = parse_algorithm_spec(choice.algorithm);
  const auto network = spec.options.find("topo");
  const bool is_open =
      spec.name == synth && network != spec.options.end() && !spec.options.contains("latency");
  if (!is_open || point.workers < 2 || !point.inject.empty()) return choice;
  const std::optional<int> links = links_of_a_message(network->second, point.workers);
  if (!links) return choice;
  const Seconds message = time_of_a_round(point, sampling, team);
  const std::string latency = rounded(message / *links);
  choice.algorithm.insert(synth.size(), ":latency=" + latency);
  choice.reason += fmt::format(
      "{}cut for a link's latency of {}, measured here as the network gives none: a short message "
      "takes {} over {} {}",
      choice.reason.empty() ? "" : "; ", to_string(parse_duration(latency)), to_string(message),
      *links, *links == 1 ? "link" : "links");
  return choice;
}

}  // namespace collbench

// Which schedules of the registry are faster than the trees of a plan: where hops count more than
// bytes, those of fewer rounds or fewer messages.
#include <numeric>
#include <optional>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/synthesis/synthesise.h"

namespace collbench {
namespace {

/// All of the registry, and what is better than its rows where few of many ranks are near.
std::vector<std::string> known_names() {
  std::vector<std::string> names{"hierarchical:inner=direct:outer=direct",
                                 "hierarchical:inner=direct:outer=circulant", "torus:pincer"};
  for (const AlgorithmInfo& row : algorithms()) names.emplace_back(row.name);
  return names;
}

/// The schedule, unless the algorithm does not fit the collective or so many ranks.
std::optional<Schedule> fitting_schedule(const std::string& name, const Topology& topology,
                                         CollectiveKind goal, Bytes bytes) {
  const AlgorithmSpec spec = parse_algorithm_spec(name);
  if (!find_algorithm(spec.name).implements(goal) || !is_replica_consistent(spec)) return {};
  try {
    const int ranks = topology.hosts();
    return make_schedule(fit_to(spec, topology, ranks), ranks, bytes, {goal, 0});
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

double messages_of(const Schedule& schedule) {
  const std::vector<SampledRound> rounds = sample_sends(schedule, 64);
  return std::accumulate(rounds.begin(), rounds.end(), 0.0, [](double sum, const auto& round) {
    return sum + round.sends * round.rounds;
  });
}

}  // namespace

void add_known(SynthesisedPlan& plan, Bytes bytes, int tracks, const TimeOf& time_of) {
  constexpr double near_bound = 1.05;  // of the time: what is left to gain is not worth the search
  constexpr double worth_taking = 0.999;
  constexpr double most_messages = 3e4;  // to be played, in some hundredths of a second
  constexpr double most_of_trees = 3e5;  // beyond, bytes count most
  plan.known.reset();
  const auto [packing, pipelining] = playing(plan, bytes, tracks);
  const double bound =
      plan.certificate.bound.seconds_per_gigabyte.value() / 1e9 * static_cast<double>(bytes.count);
  if (pipelining.time.count() <= near_bound * bound) return;
  const Schedule trees = packed_schedule(*packing, pipelining, "synth");
  if (messages_of(trees) > most_of_trees) return;
  const Seconds usual = time_of(trees);
  Seconds least = usual * worth_taking;
  for (const std::string& name : known_names()) {
    std::optional<Schedule> schedule =
        fitting_schedule(name, plan.certificate.topology, packing->goal, bytes);
    if (!schedule || messages_of(*schedule) > most_messages) continue;
    const Seconds time = time_of(*schedule);
    if (time >= least) continue;
    least = time;
    plan.known = KnownSchedule{name, *std::move(schedule), time, usual};
  }
}

}  // namespace collbench

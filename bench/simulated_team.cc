#include "bench/simulated_team.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/halves.h"
#include "algorithms/registry.h"
#include "bench/report.h"
#include "bench/simulated_values.h"
#include "core/error.h"
#include "core/suggest.h"
#include "heuristics/fit.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr double agreement = 1e-9;  // relative, between engines

Schedule part_of(const Schedule& schedule, const std::string& collective) {
  if (collective == "all-reduce") return schedule;
  if (collective == "reduce-scatter") return reduce_scatter_half(schedule);
  if (collective == "all-gather") return all_gather_half(schedule);
  const std::vector<std::string> known{"all-reduce", "reduce-scatter", "all-gather"};
  throw InvalidArgument(fmt::format("unknown collective '{}'.{} Known are {}", collective,
                                    did_you_mean(collective, known), fmt::join(known, ", ")));
}

/// The scenario without a protocol.
Scenario scenario_of(const Case& which, const Machine& machine, const AlgorithmSpec& algorithm) {
  const Simulated& simulated = which.simulated;
  Disturbance disturbance;
  disturbance.jitter = simulated.jitter;
  disturbance.seed = simulated.seed;
  disturbance.stragglers = parse_stragglers(simulated.stragglers);
  Machine slowed = machine;
  if (!simulated.slow_hosts.empty()) {
    const SlowHosts slow = parse_slow_hosts(simulated.slow_hosts);
    slowed.topology = machine.topology.slowed(slow.hosts, slow.factors);
  }
  return Scenario{
      .schedule = part_of(make_schedule(algorithm, which.workers), simulated.collective),
      .machine = std::move(slowed),
      .placement = place(simulated.mapping, which.workers, machine.topology),
      .count = element_count(which),
      .type = which.type,
      .op = which.op,
      .posting = parse_posting(simulated.posting),
      .protocol = {},
      .equal_chunks = simulated.equal_chunks,
      .disturbance = disturbance,
      .real_data = simulated.real_data};
}

Seconds predicted(const Scenario& scenario) { return simulate(scenario, Engine::model).time; }

std::string against(Seconds best, const std::string& next, Seconds next_time) {
  if (next.empty()) return fmt::format("predicted {}", to_string(best));
  return fmt::format("predicted {}; next {} with {}", to_string(best), next, to_string(next_time));
}

/// Keeps the best and the second of candidates with their predicted times.
class Ranking {
 public:
  void add(const std::string& name, Seconds time) {
    if (time < best_time_) {
      next_ = std::exchange(best_, name);
      next_time_ = std::exchange(best_time_, time);
    } else if (time < next_time_) {
      next_ = name;
      next_time_ = time;
    }
  }
  bool empty() const { return best_.empty(); }
  Decided decided() const { return {best_, against(best_time_, next_, next_time_)}; }

 private:
  std::string best_;
  std::string next_;
  Seconds best_time_{std::numeric_limits<double>::infinity()};
  Seconds next_time_{std::numeric_limits<double>::infinity()};
};

Exact exact_of(const Scenario& scenario, const Outcome& outcome) {
  Exact exact;
  exact.time = outcome.time;
  exact.engine = std::string(to_string(outcome.engine));
  exact.why = outcome.why;
  exact.messages = outcome.messages;
  exact.messages_played = outcome.messages_played;
  exact.rounds = scenario.schedule.rounds();
  exact.rank_classes = outcome.rank_classes;
  for (const LinkUse& use : outcome.links) {
    exact.busiest_link_bytes = std::max(exact.busiest_link_bytes, use.bytes);
  }
  if (!outcome.links.empty()) exact.bottleneck = explain_bottleneck(scenario, outcome);
  return exact;
}

}  // namespace

const Machine& CaseBinder::machine_of(const Case& which) {
  const std::pair key{which.simulated.topology, which.workers};
  auto found = machines_.find(key);
  if (found == machines_.end()) {
    found = machines_.emplace(key, machine(key.first, key.second)).first;
  }
  return found->second;
}

Decided CaseBinder::decide_protocol(const Scenario& scenario) {
  Ranking ranking;
  for (const Protocol& protocol : scenario.machine.costs.protocols) {
    Scenario candidate = scenario;
    candidate.protocol = protocol.name;
    ranking.add(protocol.name, predicted(candidate));
  }
  return ranking.decided();
}

BoundCase CaseBinder::bind(const Case& which) {
  const Machine& machine = machine_of(which);
  const AlgorithmSpec spec =
      fit_to(parse_algorithm_spec(which.algorithm), machine.topology, which.workers);
  BoundCase bound{scenario_of(which, machine, spec), to_string(spec)};
  const std::vector<Protocol>& ladder = machine.costs.protocols;
  const std::string& wanted = which.simulated.protocol;
  if (wanted == "auto") {
    if (!ladder.empty()) bound.scenario.protocol = decide_protocol(bound.scenario).name;
    return bound;
  }
  std::vector<std::string> names;
  for (const Protocol& protocol : ladder) names.push_back(protocol.name);
  require(std::find(names.begin(), names.end(), wanted) != names.end(),
          fmt::format("{} has no protocol '{}'.{} It has {}", machine.topology.name(), wanted,
                      did_you_mean(wanted, names),
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  bound.scenario.protocol = wanted;
  return bound;
}

Decided CaseBinder::decide_algorithm(const Case& which) {
  Ranking ranking;
  for (const AlgorithmInfo& info : algorithms()) {
    if (!info.replica_consistent) continue;
    Case candidate = which;
    candidate.algorithm = std::string(info.name);
    try {
      const BoundCase bound = bind(candidate);
      ranking.add(bound.algorithm, predicted(bound.scenario));
    } catch (const InvalidArgument&) {
      continue;  // does not fit this many workers, or has no such half
    }
  }
  require(!ranking.empty(), fmt::format("no algorithm fits {} workers on {}", which.workers,
                                        which.simulated.topology));
  return ranking.decided();
}

Played play_case(const Case& which, CaseBinder& binder, std::int64_t trace_limit) {
  Scenario scenario = binder.bind(which).scenario;
  scenario.trace_limit = trace_limit;
  Outcome outcome = simulate(scenario, parse_engine(which.simulated.engine));
  return {std::move(scenario), std::move(outcome)};
}

Measurement measure_simulated(const Case& which, CaseBinder& binder) {
  const BoundCase bound = binder.bind(which);
  const Outcome outcome = simulate(bound.scenario, parse_engine(which.simulated.engine));
  Measurement measured;
  measured.latency_ns.push_back(std::llround(outcome.time.count() * 1e9));
  measured.wrong = outcome.wrong;
  measured.played = bound.algorithm;
  if (!bound.scenario.protocol.empty()) measured.played += ", " + bound.scenario.protocol;
  measured.exact = exact_of(bound.scenario, outcome);
  return measured;
}

std::string check_engines(const Case& which, CaseBinder& binder) {
  const BoundCase bound = binder.bind(which);
  const Outcome first = simulate(bound.scenario, parse_engine(which.simulated.engine));
  const Engine other = first.engine == Engine::fluid ? Engine::simgrid : Engine::fluid;
  const Outcome second = simulate(bound.scenario, other);
  const double difference =
      std::abs(first.time.count() - second.time.count()) / second.time.count();
  const std::string words =
      fmt::format("{} {:.12g} s, {} {:.12g} s: relative difference {:.1e}", to_string(first.engine),
                  first.time.count(), to_string(second.engine), second.time.count(), difference);
  if (!(difference <= agreement)) {
    throw WrongResult(fmt::format("engines differ by more than {:.0e}: {}", agreement, words));
  }
  return words;
}

}  // namespace collbench

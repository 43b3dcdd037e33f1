#include "bench/simulated/team.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/combinators.h"
#include "algorithms/registry.h"
#include "bench/records/report.h"
#include "bench/simulated/values.h"
#include "core/error.h"
#include "core/suggest.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/policies/policy.h"
#include "heuristics/predict.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr double most_disagreement = 1e-9;  // relative, between engines

/// What each group of workers plays, at the same time.
Schedule schedule_of(const Case& point, const AlgorithmSpec& algorithm) {
  const Groups groups = parse_groups(point.groups, point.workers);
  const Schedule inner = make_schedule(algorithm, group_size(groups, point.workers), point.bytes,
                                       collective_of(point));
  return groups.empty() ? inner : side_by_side(inner, groups);
}

Disturbance disturbance_of(const Simulated& simulated) {
  Disturbance disturbance;
  disturbance.jitter = simulated.jitter;
  disturbance.seed = simulated.seed;
  disturbance.stragglers = parse_stragglers(simulated.stragglers);
  return disturbance;
}

Topology slowed_as_asked(const Topology& topology, const Simulated& simulated) {
  if (simulated.slow_hosts.empty()) return topology;
  const SlowHosts slow = parse_slow_hosts(simulated.slow_hosts);
  return topology.slowed(slow.hosts, slow.factors);
}

/// The scenario without a protocol.
Scenario scenario_of(const Case& point, const Machine& machine, const AlgorithmSpec& algorithm) {
  const Simulated& simulated = point.simulated;
  const bool checkable = point.collective == CollectiveKind::all_reduce && point.groups.empty();
  require(checkable || !simulated.real_data,
          "real data are checked for all-reduces of all workers; leave --real-data out");
  Machine slowed = machine;
  slowed.topology = slowed_as_asked(
      routed_for(algorithm, machine.topology, point.bytes, point.collective), simulated);
  return Scenario{.schedule = schedule_of(point, algorithm),
                  .machine = std::move(slowed),
                  .placement = hosts_of_ranks(simulated.mapping, point.workers, machine.topology),
                  .count = element_count(point),
                  .type = point.type,
                  .op = point.op,
                  .posting = parse_posting(simulated.posting),
                  .protocol = {},
                  .equal_chunks = simulated.equal_chunks,
                  .disturbance = disturbance_of(simulated),
                  .real_data = simulated.real_data};
}

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

bool is_in_network(const std::string& name, const Machine& machine) {
  const std::optional<InNetwork>& switches = machine.costs.in_network;
  return switches && switches->name == name;
}

bool is_as_policies_see_it(const Case& point) {
  Simulated plain;
  plain.topology = point.simulated.topology;
  plain.engine = point.simulated.engine;
  plain.real_data = point.simulated.real_data;
  plain.seed = point.simulated.seed;
  plain.equal_chunks = point.simulated.equal_chunks;
  return point.simulated == plain && point.groups.empty();
}

std::string need_of_messages(const Case& point) {
  const Simulated& asked = point.simulated;
  if (!point.groups.empty()) return "groups side by side need messages";
  if (asked.engine != "auto" && asked.engine != "model") {
    return fmt::format("the engine '{}' plays messages", asked.engine);
  }
  Case with_protocol = point;
  with_protocol.simulated.protocol = Simulated().protocol;
  return is_as_policies_see_it(with_protocol) && !asked.real_data
             ? ""
             : "mappings, posting, disturbances and real data need messages";
}

Measurement modelled(Seconds time, std::string played, std::string why) {
  Measurement measured;
  measured.latency_ns.push_back(std::llround(time.count() * 1e9));
  measured.played = std::move(played);
  Exact exact;
  exact.time = time;
  exact.engine = "model";
  exact.why = std::move(why);
  measured.exact = std::move(exact);
  return measured;
}

const Machine& CaseBinder::machine_of(const Case& point) {
  const std::pair key{point.simulated.topology, point.workers};
  auto found = machines_.find(key);
  if (found == machines_.end()) {
    found = machines_.emplace(key, machine(key.first, key.second)).first;
  }
  return found->second;
}

const Calibration* CaseBinder::calibration_on(const Case& point) {
  const std::string& topology = point.simulated.topology;
  auto found = calibrations_.find(topology);
  if (found == calibrations_.end()) {
    found = calibrations_.emplace(topology, calibration_of(topology)).first;
  }
  return found->second ? &*found->second : nullptr;
}

std::optional<Measurement> CaseBinder::measure_fitted(const Case& point, std::string& remark) {
  const Calibration* calibration = calibration_on(point);
  if (calibration == nullptr || messages_only_) return {};
  std::string why_not;
  std::optional<Measurement> fitted =
      measure_fitted_case(point, *calibration, machine_of(point), why_not);
  if (!fitted) {
    remark = fmt::format("played on the plain machine of the file, not by its fit: {}", why_not);
  }
  return fitted;
}

BoundCase CaseBinder::bind(const Case& point) {
  const Machine& machine = machine_of(point);
  remember_machine(machine);
  const AlgorithmSpec asked = parse_algorithm_spec(point.algorithm);
  const int ranks = group_size(point);
  const bool spread = point.simulated.mapping == Simulated().mapping;
  const AlgorithmSpec spec = spread ? fit_to_nodes(asked, machine.topology, ranks,
                                                   nodes_of(machine.topology.layout(), ranks))
                                    : fit_to(asked, machine.topology, ranks);
  BoundCase bound{scenario_of(point, machine, spec), to_string(spec)};
  if (point.simulated.protocol != "auto") {
    require_protocol(point);
    bound.scenario.protocol = point.simulated.protocol;
  } else if (!machine.costs.protocols.empty()) {
    bound.scenario.protocol = decide_protocol(bound.scenario).algorithm;
  }
  return bound;
}

void CaseBinder::require_protocol(const Case& point) {
  const Machine& machine = machine_of(point);
  const std::string& wanted = point.simulated.protocol;
  std::vector<std::string> names;
  for (const Protocol& protocol : machine.costs.protocols) names.push_back(protocol.name);
  require(wanted == "auto" || std::ranges::find(names, wanted) != names.end(),
          fmt::format("{} has no protocol '{}'.{} It has {}", machine.topology.name(), wanted,
                      did_you_mean(wanted, names),
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

void CaseBinder::require_modelled(const Case& point) {
  const std::string need =
      messages_only_ ? "only messages can be traced or checked" : need_of_messages(point);
  require(need.empty(),
          fmt::format("{}: {}, and it is not a schedule of messages", point.algorithm, need));
  if (is_library_case(point.algorithm)) return require_library_case(point, machine_of(point));
  require(point.collective == CollectiveKind::all_reduce,
          fmt::format("{}: switches add whole vectors; it has no {}", point.algorithm,
                      to_string(point.collective)));
}

void CaseBinder::require_playable(const Case& point) {
  const Machine& machine = machine_of(point);
  if (is_library_case(point.algorithm) || is_in_network(point.algorithm, machine)) {
    return require_modelled(point);
  }
  require_protocol(point);
  start_times(disturbance_of(point.simulated), point.workers);
  slowed_as_asked(machine.topology, point.simulated);
  hosts_of_ranks(point.simulated.mapping, point.workers, machine.topology);
}

std::optional<Measurement> CaseBinder::measure_modelled(const Case& point, std::string& remark) {
  const Machine& machine = machine_of(point);
  const bool is_of_library = is_library_case(point.algorithm);
  if (!is_of_library && !is_in_network(point.algorithm, machine)) {
    return measure_fitted(point, remark);
  }
  require_modelled(point);
  if (is_of_library) {
    if (std::optional<Measurement> fitted = measure_fitted(point, remark)) return fitted;
    Measurement measured = measure_library_case(point, machine);
    if (!remark.empty()) measured.exact->why += "; " + remark;
    return measured;
  }
  const Prediction added =
      predict_in_network(machine, point.workers, point.bytes, {point.type, point.op});
  Measurement measured = modelled(added.time(), fmt::format("{} (switches add)", point.algorithm),
                                  "what switches add is not a schedule of messages");
  measured.exact->rounds = 1;
  return measured;
}

Played play_case(const Case& point, CaseBinder& binder, std::int64_t trace_limit) {
  Scenario scenario = binder.bind(point).scenario;
  scenario.trace_limit = trace_limit;
  Outcome outcome = simulate(scenario, parse_engine(point.simulated.engine));
  return {std::move(scenario), std::move(outcome)};
}

Measurement measure_simulated(const Case& point, CaseBinder& binder) {
  std::string remark;
  if (std::optional<Measurement> modelled = binder.measure_modelled(point, remark)) {
    return *modelled;
  }
  const BoundCase bound = binder.bind(point);
  const Outcome outcome = simulate(bound.scenario, parse_engine(point.simulated.engine));
  Measurement measured;
  measured.latency_ns.push_back(std::llround(outcome.time.count() * 1e9));
  measured.wrong = outcome.wrong;
  measured.played = bound.algorithm;
  if (!bound.scenario.protocol.empty()) measured.played += ", " + bound.scenario.protocol;
  measured.exact = exact_of(bound.scenario, outcome);
  if (!remark.empty()) {
    std::string& why = measured.exact->why;
    why += (why.empty() ? "" : "; ") + remark;
  }
  return measured;
}

std::string check_engines(const Case& point, CaseBinder& binder) {
  const BoundCase bound = binder.bind(point);
  const Outcome first = simulate(bound.scenario, parse_engine(point.simulated.engine));
  const Engine other = first.engine == Engine::fluid ? Engine::simgrid : Engine::fluid;
  const Outcome second = simulate(bound.scenario, other);
  // Nothing to send takes no time.
  const double difference = first.time == second.time ? 0 : std::abs(first.time / second.time - 1);
  const std::string words =
      fmt::format("{} {:.12g} s, {} {:.12g} s: relative difference {:.1e}", to_string(first.engine),
                  first.time.count(), to_string(second.engine), second.time.count(), difference);
  if (!(difference <= most_disagreement)) {
    throw WrongResult(
        fmt::format("engines differ by more than {:.0e}: {}", most_disagreement, words));
  }
  return words;
}

}  // namespace collbench

#include "tests/heuristics/played_plans.h"

#include <numeric>

#include "simulator/simulate.h"
#include "topologies/import/import_topology.h"

namespace collbench {

std::string path_of(const std::string& name) {
  return COLLBENCH_SOURCE_DIR "/tests/heuristics/networks/" + name + ".csv";
}

Topology shipped_network(const std::string& name) {
  return import_topology_file(path_of(name)).topology;
}

Seconds bound_of(const SynthesisedPlan& plan, Bytes bytes) {
  return Seconds{plan.certificate.bound.seconds_per_gigabyte.value() *
                 static_cast<double>(bytes.count) / 1e9};
}

double simulated_over_bound(const SynthesisedPlan& plan, const Schedule& schedule, Bytes bytes) {
  Scenario scenario{.schedule = schedule, .machine = {plan.network(), {}, {}, {}}};
  scenario.placement.resize(plan.packing.ranks);
  std::iota(scenario.placement.begin(), scenario.placement.end(), 0);
  scenario.count = bytes.count / 4;
  return simulate(scenario, Engine::fluid).time / bound_of(plan, bytes);
}

double simulated_over_bound(const SynthesisedPlan& plan, Bytes bytes) {
  return simulated_over_bound(plan, to_schedule(plan, bytes), bytes);
}

}  // namespace collbench

#include "transports/world/world_spec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/registry.h"
#include "algorithms/synthesised.h"
#include "transports/faults/checked_endpoint.h"
#include "transports/faults/faulty_endpoint.h"
#include "transports/world/endpoint_views.h"

namespace collbench {

namespace {

int size_of_groups(const WorldSpec& spec) {
  return group_size(parse_groups(spec.groups, spec.ranks), spec.ranks);
}

AlgorithmSpec algorithm_of(const WorldSpec& spec) {
  return for_ranks_in_step(parse_algorithm_spec(spec.algorithm));
}

}  // namespace

PlayedSchedules schedules_of(const WorldSpec& spec) {
  if (spec.schedules) return {spec.schedules, spec.other_schedules};
  const AlgorithmSpec algorithm = algorithm_of(spec);
  const int ranks = size_of_groups(spec);
  // Refused here rather than at the first call.
  make_schedule(algorithm, ranks, spec.bytes, spec.collective);
  const auto others = [=](Bytes bytes, const Collective& collective) -> std::optional<Schedule> {
    if (!find_algorithm(algorithm.name).implements(collective.kind)) return std::nullopt;
    return make_schedule(algorithm, ranks, bytes, collective);
  };
  return {[=](Bytes bytes, DataType) { return make_schedule(algorithm, ranks, bytes); }, others};
}

Plan plan_of_rank_0(const WorldSpec& spec, DataType type) {
  const Schedule schedule = schedules_of(spec).of(spec.collective, size_of_groups(spec), spec.bytes,
                                                  type, spec.algorithm);
  return {schedule,       0, spec.bytes.count / size_of(type), type, ReduceOp::sum, true,
          spec.collective};
}

std::string name_of(const WorldSpec& spec) {
  return spec.schedules
             ? spec.algorithm
             : make_schedule(algorithm_of(spec), size_of_groups(spec), spec.bytes, spec.collective)
                   .name();
}

std::unique_ptr<Communicator> play_on(std::unique_ptr<Endpoint> endpoint, const WorldSpec& spec,
                                      const std::string& over) {
  std::string description = name_of(spec) + " over " + over;
  if (!spec.inject.empty()) {
    endpoint = make_faulty_endpoint(std::move(endpoint), parse_injected_faults(spec.inject),
                                    spec.checksum ? checked_messages : 1);
  }
  if (spec.checksum) {
    endpoint = make_checked_endpoint(std::move(endpoint));
    description += " with checksums";
  }
  if (!spec.inject.empty()) description += ", " + spec.inject + " injected";
  if (!spec.groups.empty()) {
    const Groups groups = parse_groups(spec.groups, spec.ranks);
    for (const std::vector<Rank>& group : groups) {
      if (std::ranges::find(group, endpoint->rank()) == group.end()) continue;
      endpoint = make_group_endpoint(std::move(endpoint), group);
      break;
    }
    description += " in groups of " + std::to_string(group_size(groups, spec.ranks));
  }
  PlayedSchedules played = schedules_of(spec);
  return make_schedule_communicator(std::move(played.all_reduces), std::move(endpoint), description,
                                    std::move(played.others));
}

}  // namespace collbench

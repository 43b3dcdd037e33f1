#include "training/gradient_schedule.h"

#include <optional>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "heuristics/policies/choose.h"

namespace collbench {
namespace {

ScheduleChoice gradient_schedule(const std::string& algorithm, const Backend& backend, int ranks,
                                 int cores) {
  if (algorithm == "auto") {
    return [&backend, ranks, cores](Bytes bytes, DataType type) {
      const std::string chosen =
          choose(backend.name, backend.choice, ranks, bytes, type, ReduceOp::sum, cores).algorithm;
      const bool fits = is_replica_consistent(parse_algorithm_spec(chosen));
      return make_schedule(fits ? chosen : "ring", ranks, bytes);
    };
  }
  make_schedule(algorithm, ranks);  // throws for what does not fit
  require(is_replica_consistent(parse_algorithm_spec(algorithm)),
          fmt::format("{} may leave different rounding on different ranks, and replicas must stay "
                      "equal to the bit; ring does",
                      algorithm));
  return
      [algorithm, ranks](Bytes bytes, DataType) { return make_schedule(algorithm, ranks, bytes); };
}

CollectiveChoice halves(const std::string& algorithm, const Backend& backend, int ranks,
                        int cores) {
  if (algorithm == "auto") {
    return [&backend, ranks, cores](Bytes bytes, const Collective& collective) {
      const Choice choice = choose(backend.name, backend.choice, ranks, bytes, DataType::f32,
                                   ReduceOp::sum, cores, collective.kind);
      return std::optional(
          make_schedule(parse_algorithm_spec(choice.algorithm), ranks, bytes, collective));
    };
  }
  const AlgorithmSpec spec = parse_algorithm_spec(algorithm);
  make_schedule(spec, ranks, {}, {CollectiveKind::reduce_scatter});  // throws for what has none
  return [spec, ranks](Bytes bytes, const Collective& collective) {
    const bool has_it = find_algorithm(spec.name).implements(collective.kind);
    return has_it ? std::optional(make_schedule(spec, ranks, bytes, collective)) : std::nullopt;
  };
}

}  // namespace

WorldSpec gradient_world(const std::string& algorithm, const Backend& backend, int ranks, int cores,
                         StateSharding sharding) {
  WorldSpec spec;
  spec.backend = backend.name;
  spec.ranks = ranks;
  spec.algorithm = algorithm;
  const bool shares = sharding != StateSharding::none;
  if (backend.is_black_box() && algorithm == "auto") spec.algorithm = backend.name;
  if (black_box(spec.algorithm) != &backend) {
    require(!backend.is_black_box(),
            fmt::format("{} plays no schedules of ours such as {}; use auto or {}", backend.name,
                        algorithm, backend.name));
    spec.schedules = gradient_schedule(algorithm, backend, ranks, cores);
    if (shares) spec.other_schedules = halves(algorithm, backend, ranks, cores);
  }
  return spec;
}

}  // namespace collbench

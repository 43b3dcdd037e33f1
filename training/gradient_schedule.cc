#include "training/gradient_schedule.h"

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

}  // namespace

WorldSpec gradient_world(const std::string& algorithm, const Backend& backend, int ranks,
                         int cores) {
  WorldSpec spec;
  spec.backend = backend.name;
  spec.ranks = ranks;
  spec.algorithm = algorithm;
  if (backend.is_black_box() && algorithm == "auto") spec.algorithm = backend.name;
  if (black_box(spec.algorithm) != &backend) {
    require(!backend.is_black_box(),
            fmt::format("{} plays no schedules of ours such as {}; use auto or {}", backend.name,
                        algorithm, backend.name));
    spec.schedules = gradient_schedule(algorithm, backend, ranks, cores);
  }
  return spec;
}

}  // namespace collbench

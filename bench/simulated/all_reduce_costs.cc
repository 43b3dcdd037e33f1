#include "bench/simulated/all_reduce_costs.h"

#include <algorithm>

#include <fmt/format.h>

#include "heuristics/calibration/fit.h"
#include "heuristics/nccl/nccl_model.h"
#include "topologies/specification.h"

namespace collbench {

AllReduceCosts::AllReduceCosts(const std::string& topology, const std::string& algorithm,
                               int workers)
    : machine_(machine(topology, workers)) {
  which_.algorithm = algorithm;
  which_.backend = "sim";
  which_.workers = workers;
  which_.simulated.topology = topology;
  which_.simulated.equal_chunks = true;
}

AllReduceCosts::Play AllReduceCosts::ask_nccl(Bytes size) const {
  const NcclInputs inputs =
      nccl_inputs(machine_, which_.workers, nodes_of(machine_.topology.layout(), which_.workers));
  const std::vector<NcclTime> times = nccl_times(inputs, size);
  const NcclTime& best =
      *std::min_element(times.begin(), times.end(),
                        [](const NcclTime& a, const NcclTime& b) { return a.time() < b.time(); });
  return {best.time(),
          fmt::format("nccl: {}, {}", to_string(best.algorithm), to_string(best.protocol))};
}

AllReduceCosts::Play AllReduceCosts::play(Bytes size) {
  if (which_.workers == 1) return {};
  if (which_.algorithm == "nccl") return ask_nccl(size);
  Case which = which_;
  which.bytes = size;
  if (which.algorithm == "auto") which.algorithm = binder_.decide_algorithm(which).name;
  const Measurement measured = measure_simulated(which, binder_);
  return {measured.exact->time, measured.played};
}

Seconds AllReduceCosts::exact(Bytes size) {
  const auto found = plays_.find(size);
  if (found != plays_.end()) return found->second.time;
  return plays_.emplace(size, play(size)).first->second.time;
}

Seconds AllReduceCosts::between(Bytes size) {
  std::int64_t low = 1024;
  while (low * 2 < size.count) low *= 2;
  const Seconds from = exact({low});
  const Seconds to = exact({low * 2});
  const double share = static_cast<double>(size.count - low) / static_cast<double>(low);
  return from + (to - from) * std::max(share, 0.0);
}

std::string AllReduceCosts::played(Bytes size) const {
  const auto found = plays_.find(size);
  return found == plays_.end() ? std::string() : found->second.name;
}

}  // namespace collbench

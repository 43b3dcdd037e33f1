#include "bench/simulated/all_reduce_costs.h"

#include <algorithm>
#include <iterator>

#include "algorithms/registry.h"
#include "algorithms/synthesised.h"

namespace collbench {

AllReduceCosts::AllReduceCosts(const std::string& topology, const std::string& algorithm,
                               int workers, CollectiveKind collective) {
  point_.algorithm = algorithm;
  point_.backend = "sim";
  point_.workers = workers;
  point_.collective = collective;
  point_.simulated.topology = topology;
  binder_.machine_of(point_);  // refused now if it does not seat them
}

AllReduceCosts::Play AllReduceCosts::play(Bytes size) {
  if (point_.workers == 1) return {};
  Case point = point_;
  point.bytes = size;
  if (point.algorithm == "auto") point.algorithm = binder_.decide_algorithm(point).algorithm;
  // The shares of a synthesised schedule are what its trees can carry.
  const bool is_synthesised = parse_algorithm_spec(point.algorithm).name == synthesised_row().name;
  point.simulated.equal_chunks = !is_synthesised;
  const Measurement measured = measure_simulated(point, binder_);
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
  if (plays_.empty()) return "";
  auto found = plays_.lower_bound(size);
  if (found != plays_.begin()) {
    const auto below = std::prev(found);
    if (found == plays_.end() || size - below->first < found->first - size) found = below;
  }
  return found->second.name;
}

}  // namespace collbench

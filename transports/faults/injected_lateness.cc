#include "transports/faults/injected_lateness.h"

#include <thread>

#include "core/random.h"

namespace collbench {

InjectedLateness::InjectedLateness(std::string_view faults, Rank rank) : rank_(rank) {
  for (const InjectedFault& fault : parse_injected_faults(faults)) {
    if (fault.kind != InjectedFault::Kind::late) continue;
    faults_.emplace_back(fault,
                         random_engine(fault.seed, "lateness", static_cast<std::uint64_t>(rank)));
  }
}

void InjectedLateness::arrive() {
  const std::int64_t number = number_++;
  for (auto& [fault, engine] : faults_) {
    if (fault.delays_arrival(rank_, number, engine)) std::this_thread::sleep_for(fault.time);
  }
}

}  // namespace collbench

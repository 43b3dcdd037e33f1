#include "transports/world/world.h"

#include "transports/world/process_world.h"
#include "transports/world/thread_world.h"

namespace collbench {

std::unique_ptr<World> start_world(const WorldSpec& spec, Seconds timeout) {
  const Backend& backend = find_backend(spec.backend);
  require_usable(backend);
  require_possible(spec);
  if (rank_kind(backend, spec) == RankKind::threads) return std::make_unique<ThreadWorld>(spec);
  return std::make_unique<ProcessWorld>(spec, timeout);
}

}  // namespace collbench

// The state of one rank in its world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "transports/communicator.h"
#include "transports/world/rendezvous.h"

namespace collbench {

/// Lives as long as the rank is in its world. Thread safety: belongs to the rank's thread.
struct RankContext {
  Rank rank = 0;
  int ranks = 1;
  Seconds timeout{60};                         // a rank that is silent for so long is lost
  Rendezvous* rendezvous = nullptr;            // beside the communicators; valid during the work
  std::string job;                             // a secret of the world
  std::byte* arena = nullptr;                  // Backend::arena_bytes of memory that all ranks see
  std::shared_ptr<void> shared;                // what Backend::share gave; threads only
  std::shared_ptr<Endpoint> endpoint;          // joined before; null: each communicator joins anew
  int made = 0;                                // communicators made in this arena
  std::unique_ptr<Communicator> communicator;  // made by communicator_for()
  std::string communicator_key;                // what it was made for
  /// What others may read until all have finished the work; ends before the communicator.
  std::shared_ptr<void> kept;
  bool all_refused = false;          // the work, before anything was begun; see together()
  std::vector<std::string> remarks;  // on what is measured here: "ranks share a GPU"
  std::map<std::int64_t, Bandwidth> exchange_rates;  // measured here, by bytes of a message
};

}  // namespace collbench

// Memory that joined ranks of one machine share for one piece of work: the control block by which
// they meet, and the arena of a back end that needs one.
//
// Rank 0 makes it, and the others open it by a path that rank 0 sends. If a rank ends meanwhile,
// the others stop waiting at once and name it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <thread>

#include <sys/types.h>

#include "core/descriptor.h"
#include "transports/world/backend.h"
#include "transports/world/shared_memory.h"
#include "transports/world/shared_rendezvous.h"

namespace collbench {

/// Thread safety: belongs to the thread of its rank.
class JoinedMemory {
 public:
  /// Makes it, or opens what rank 0 made, at `paths`. `processes` are those of all ranks.
  /// Throws as SharedMemory.
  JoinedMemory(const Backend& backend, const WorldSpec& spec, Rank rank, Seconds timeout,
               std::span<const pid_t> processes, const std::string& paths);
  ~JoinedMemory();
  JoinedMemory(const JoinedMemory&) = delete;
  JoinedMemory& operator=(const JoinedMemory&) = delete;

  /// By which the others open it.
  std::string paths() const;
  Rendezvous& rendezvous() { return *rendezvous_; }
  /// Null for a back end without one.
  std::byte* arena() const { return arena_.data(); }
  /// Makes every rank give up, with these words.
  void abort(const Fault& fault) const;

 private:
  void watch(std::span<const pid_t> processes);

  const Backend& backend_;
  WorldSpec spec_;
  SharedMemory control_memory_;
  SharedMemory arena_;
  std::optional<Control> control_;
  std::optional<SharedRendezvous> rendezvous_;
  Descriptor over_;  // an eventfd that ends the watching with the work
  std::thread watcher_;
};

}  // namespace collbench

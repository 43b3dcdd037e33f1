// Ranks that have been started and joined.
//
// A world lives over many pieces of work. Between them its ranks sleep, so several worlds can take
// turns in one process. Benchmarks measure in a world and training trains in one; neither depends
// on how its ranks were started.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "transports/world/backend.h"
#include "transports/world/rank_context.h"
#include "transports/world/world_spec.h"

namespace collbench {

/// What every rank does. Ranks that are threads of this process call `run`. Ranks that are other
/// processes cannot: each is sent the text that `order` gives for it, from which the program's
/// OrderHandler (worker.h) makes the same work there, and `answer` gets what that returned. Work
/// without `order` is for worlds of this process only.
struct Work {
  std::function<void(RankContext&)> run;
  std::function<std::string(Rank)> order{};
  std::function<void(Rank, const std::string&)> answer{};
  /// Cut off so long after a stop signal; by default never, for work that ends in an order of its
  /// own, such as saving a checkpoint.
  Seconds stop_grace{std::numeric_limits<double>::infinity()};
};

/// Consecutive ranks.
struct RankRange {
  Rank first = 0;
  int count = 0;
};

/// Thread safety: a world belongs to one thread; communicator() to the thread of its context.
class World {
 public:
  virtual ~World() = default;  // ends the ranks; no process, file or segment is left behind
  virtual const Backend& backend() const = 0;
  virtual int ranks() const = 0;
  /// Runs `work` on all ranks at once and waits for them. `spec` says what they share meanwhile;
  /// its back end and number of ranks are those of the world. If a rank fails, the others are made
  /// to give up, and the first failure is thrown, a TransportError only if there is no other, since
  /// it may be a consequence. The world is then unusable, unless every rank refused the work as
  /// unavailable or an invalid argument. A rank that is silent for `timeout` counts
  /// as lost, and is named.
  virtual void on_all(const WorldSpec& spec, Seconds timeout, const Work& work) = 0;
  /// The ranks whose work runs in this process: all of them as threads, one that has joined others,
  /// or none where all are processes of their own.
  virtual RankRange own_ranks() const = 0;
  /// The communicator for `spec` of the rank that is at work with `context`.
  virtual Communicator& communicator(const WorldSpec& spec, RankContext& context) {
    return communicator_for(backend(), spec, context);
  }
  /// The processes of ranks on this machine other than this one, as far as they can be seen.
  virtual std::vector<pid_t> processes() const = 0;
};

/// Starts `spec.ranks` ranks on this machine: threads, or processes of this program. Throws
/// Unavailable with the reason, InvalidArgument with what would be possible, and TransportError
/// naming the processes that did not join in time.
std::unique_ptr<World> start_world(const WorldSpec& spec, Seconds timeout);

}  // namespace collbench

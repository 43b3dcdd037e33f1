// Fused plans over shared memory: all rounds in one pass, with the work shared dynamically.
//
// Several protocols, one meaning. In a schedule of one round the data travels behind the
// announcement and every rank folds everything by itself: one meeting. In one of two rounds every
// rank announces its buffers, the ranks claim pieces, fold each from all inputs and store it to all
// outputs: two meetings. Where the buffers are private to processes, the same happens through the
// kernel (transports/shm/peer_memory.h). Where that is not permitted or the buffers are small, and
// every rank has a core, each rank stages the parts that others own, folds its own part directly
// from and to its private memory, and copies the rest back from their staging.
#pragma once

#include <memory>

#include "algorithms/fusion.h"
#include "transports/endpoint.h"
#include "transports/shm/shm_world.h"

namespace collbench {

/// Thread safety: belongs to the thread of its endpoint.
class ShmFused {
 public:
  virtual ~ShmFused() = default;
  /// Plays `fusion`. `reached`: peers can address both buffers. False if the buffers must be staged
  /// first; every rank gets the same answer. Throws TransportError naming the missing ranks.
  virtual bool play(const Fusion& fusion, Region in, Region out, Reduction reduction,
                    bool reached) = 0;
};

/// Continues the counts of an earlier object of this rank.
std::unique_ptr<ShmFused> make_shm_fused(const ShmView& view, Rank rank);

}  // namespace collbench

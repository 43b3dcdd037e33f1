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

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transports/endpoint.h"
#include "transports/kernels/kernels.h"
#include "transports/play/fusion.h"
#include "transports/shm/layout.h"
#include "transports/shm/peer_memory.h"

namespace collbench {

/// Thread safety: belongs to the thread of its endpoint.
class ShmFused {
 public:
  /// Continues the counts of an earlier object of this rank.
  ShmFused(const ShmView& view, Rank rank);

  /// Plays `fusion`. `reached`: peers can address both buffers. False if the buffers must be staged
  /// first; every rank gets the same answer. Throws TransportError naming the missing ranks.
  bool play(const Fusion& fusion, Region in, Region out, Reduction reduction, bool reached);

 private:
  void play_inline(const Fusion& fusion, Region in, Region out, Reduction reduction);
  void play_shared(const Fusion& fusion, Region in, Region out, Reduction reduction);
  bool play_remote(const Fusion& fusion, Region in, Region out, Reduction reduction);
  void play_private(const Fusion& fusion, Region in, Region out, Reduction reduction);
  void play_private_segment(const Fusion& fusion, Region in, Region out, Reduction reduction,
                            std::int64_t base);

  void arrive(std::uint64_t in, std::uint64_t out);
  void arrive_shared(const std::byte* in, const std::byte* out);
  void await_arrivals();
  void await_done(std::int64_t all);
  void fold(std::span<const Rank> order, std::int64_t first, std::int64_t count, DataType type,
            Reduction reduction, Stores stores);
  void fold_remote(std::span<const Rank> order, std::int64_t first, std::int64_t count,
                   DataType type, Reduction reduction);
  void fold_private(const Fusion& fusion, Region in, Region out, Reduction reduction,
                    std::int64_t base, std::int64_t first, std::int64_t last);
  template <class Fold>
  void fold_shares(const Fusion& fusion, std::int64_t unit, Fold fold_part);
  template <class Fold>
  std::int64_t fold_claimed(const Fusion& fusion, std::int64_t unit, Fold fold_part);
  std::string missing(std::string_view what, bool finished) const;

  ShmView view_;
  ShmLines lines_;
  ShmWaiter waiter_;
  ShmPeerMemory peers_;
  Rank rank_;
  int ranks_;
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
  std::vector<std::byte> blocks_;  // play_remote(): a block of every rank's elements
  std::uint64_t fused_ = 0;        // operations with announced buffers begun
  std::uint64_t inlined_ = 0;      // in-line operations begun
};

}  // namespace collbench
